// Package manifest tests a file of Kubernetes manifests: it has only fields that the API has, of their types.
package manifest

import (
	"flag"
	"os"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestKubernetesKnowsEveryField(t *testing.T) {
	data, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		into := map[bool]any{true: new(core.ConfigMap), false: new(core.Pod)}[strings.Contains(document, "kind: ConfigMap")]
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Error(err)
		}
	}
}
