package main

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
)

// document is as much of CycloneDX 1.5 as there is to say.
type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	PURL     string    `json:"purl,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

func licensed(id string) []license {
	var l license
	l.License.ID = id
	return []license{l}
}

func sbom(w io.Writer, info *buildinfo.BuildInfo, modules []module) error {
	doc := document{Format: "CycloneDX", Spec: "1.5", Version: 1, Components: []component{}}
	doc.Metadata.Component = component{Type: "application", Name: info.Main.Path, Licenses: licensed("Apache-2.0")}
	for _, m := range modules {
		id, err := m.license()
		if err != nil {
			return err
		}
		doc.Components = append(doc.Components, component{
			Type: "library", Name: m.Path, Version: m.Version, Licenses: licensed(id),
			PURL: "pkg:golang/" + m.Path + "@" + m.Version,
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
