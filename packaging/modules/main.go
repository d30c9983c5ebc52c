// Command modules says what is linked into a Go program, from the program
// itself: the texts of its licences, or a bill of materials.
//
//	modules notices PROGRAM   the licences, as text
//	modules sbom PROGRAM      CycloneDX 1.5, as JSON
//
// The output depends on nothing but the program: packages can be reproduced.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: modules notices|sbom PROGRAM")
	}
	info, err := buildinfo.ReadFile(args[1])
	if err != nil {
		return err
	}
	modules, err := linked(info)
	if err != nil {
		return err
	}
	switch args[0] {
	case "notices":
		return notices(w, modules)
	case "sbom":
		return sbom(w, info, modules)
	}
	return fmt.Errorf("no command %q", args[0])
}

// module is one module, and what it says about its use.
type module struct {
	Path, Version string
	Dir           string
	Texts         []text
}

type text struct{ Name, Content string }

// linked returns the modules of a program, the Go library first.
func linked(info *buildinfo.BuildInfo) ([]module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	list := []module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), Dir: strings.TrimSpace(string(root))}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		out, err := exec.Command("go", "mod", "download", "-json", dep.Path+"@"+dep.Version).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dep.Path, err)
		}
		m := module{Path: dep.Path, Version: dep.Version}
		if err := json.Unmarshal(out, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", dep.Path, err)
		}
		list = append(list, m)
	}
	for i := range list {
		if err := list[i].read(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// read reads the licence, and what is to be passed on with it.
func (m *module) read() error {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || strings.HasSuffix(name, ".GO") || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return err
		}
		m.Texts = append(m.Texts, text{e.Name(), strings.TrimSpace(string(content))})
	}
	if len(m.Texts) == 0 {
		return fmt.Errorf("%s %s has no licence", m.Path, m.Version)
	}
	return nil
}

// license is the SPDX identifier of a module's licence.
func (m *module) license() (string, error) {
	for _, t := range m.Texts {
		words := strings.Join(strings.Fields(t.Content), " ")
		switch {
		case strings.Contains(words, "Apache License Version 2.0"):
			return "Apache-2.0", nil
		case strings.Contains(words, "Permission is hereby granted, free of charge"):
			return "MIT", nil
		case strings.Contains(words, "Redistribution and use in source and binary forms") && strings.Contains(words, "endorse or promote"):
			return "BSD-3-Clause", nil
		case strings.Contains(words, "Redistribution and use in source and binary forms"):
			return "BSD-2-Clause", nil
		}
	}
	return "", fmt.Errorf("%s %s has a licence that nobody has looked at yet", m.Path, m.Version)
}

func notices(w io.Writer, modules []module) error {
	fmt.Fprintln(w, "pmcheck is made with the following. Their licences and notices:")
	for _, m := range modules {
		for _, t := range m.Texts {
			if _, err := fmt.Fprintf(w, "\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("=", 72), m.Path, m.Version, t.Name, t.Content); err != nil {
				return err
			}
		}
	}
	return nil
}
