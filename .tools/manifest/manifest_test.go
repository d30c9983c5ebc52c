// Package manifest tests a file of Kubernetes manifests: with the types of Kubernetes's API, which know every
// field, and with kubeconform and the schemas in client-go, which are older and know what is required and which
// values there are.
package manifest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/yaml"
)

func TestKubernetesKnowsEveryField(t *testing.T) {
	data, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		into, known := map[string]any{
			"ConfigMap":  new(core.ConfigMap),
			"Service":    new(core.Service),
			"Deployment": new(apps.Deployment),
		}[kind.Kind]
		if !known {
			t.Fatalf("a document of the kind %q", kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Error(err)
		}
	}
}

func TestSchemasAcceptEveryDocument(t *testing.T) {
	schemas := t.TempDir()
	for _, path := range []string{"api/v1", "apis/apps/v1"} {
		writeSchemas(t, schemas, path)
	}
	v, err := validator.New([]string{schemas + "/{{.ResourceKind}}{{.KindSuffix}}.json"}, validator.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		t.Fatal(err)
	}

	valid := 0
	for _, result := range v.Validate(flag.Arg(0), file) {
		switch result.Status {
		case validator.Valid:
			valid++
		case validator.Empty:
		default:
			t.Errorf("%v %v\n%s", result.Err, result.ValidationErrors, result.Resource.Bytes)
		}
	}
	if valid == 0 {
		t.Error("the file has no documents")
	}
}

// writeSchemas writes a file for each kind of an API group, as kubeconform reads them: with all schemas of the group,
// to which those of its fields refer.
func writeSchemas(t *testing.T, dir, path string) {
	t.Helper()
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	data, err := paths[path].Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}

	for name := range all.Components.Schemas {
		parts := strings.Split(name, ".") // io.k8s.api.apps.v1.Deployment
		if len(parts) != 6 || parts[2] != "api" {
			continue
		}
		group, version, kind := parts[3], parts[4], strings.ToLower(parts[5])
		file := kind + "-" + group + "-" + version + ".json"
		if group == "core" {
			file = kind + "-" + version + ".json"
		}
		content, err := json.Marshal(map[string]any{
			"$ref":       "#/components/schemas/" + name,
			"components": all.Components,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
