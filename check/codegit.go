package check

import (
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/pmcheck/pmcheck/check/bounded"
)

const (
	maxSymbolic = 5        // refs that name a ref, as git allows
	maxPacked   = 16 << 20 // bytes of packed refs; a ref has about 70
)

// commitIn returns the commit that is checked out in dir, shortened; empty if there is no such commit, or if git keeps
// it in another way. Whether git has packed a ref makes no difference to the commit, only to the place of the ref.
func commitIn(dir string) string {
	git := filepath.Join(dir, ".git")
	if path, is := strings.CutPrefix(string(contents(git)), "gitdir: "); is { // of a worktree, or a submodule
		git = inside(dir, path)
	}
	shared := git // by worktrees
	if path := string(contents(git, "commondir")); path != "" {
		shared = inside(git, path)
	}

	points := string(contents(git, "HEAD"))
	for range maxSymbolic {
		ref, symbolic := strings.CutPrefix(points, "ref: ")
		if !symbolic {
			break
		}
		if !filepath.IsLocal(ref) {
			return ""
		}
		points = refIn(git, shared, ref)
	}

	_, err := hex.DecodeString(points)
	if err != nil || len(points) < 40 {
		return ""
	}
	return points[:12]
}

// inside returns a path that is absolute, or starts in dir.
func inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// refIn returns what a ref points to: a commit, or another ref. It is empty without the ref.
func refIn(git, shared, ref string) string {
	for _, dir := range []string{git, shared} {
		if points := contents(dir, ref); len(points) > 0 {
			return string(points)
		}
	}

	data, _ := bounded.File(filepath.Join(shared, "packed-refs"), maxPacked)
	for line := range strings.Lines(string(data)) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == ref {
			return commit
		}
	}
	return ""
}
