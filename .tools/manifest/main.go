// Manifest fails unless a file of Kubernetes manifests has only fields that the API has, of their types.
package main

import (
	"fmt"
	"os"
	"strings"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		into := map[bool]any{true: new(core.ConfigMap), false: new(core.Pod)}[strings.Contains(document, "kind: ConfigMap")]
		if err == nil {
			err = yaml.UnmarshalStrict([]byte(document), into)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
