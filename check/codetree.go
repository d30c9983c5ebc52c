package check

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// hashTime is how long one run of the check may look at code that nothing names: a second is enough for some
	// hundred MiB. What is not read by then is not known.
	hashTime = 10 * time.Second
	// hashAgain is how long the check leaves code alone that has not changed, once it took more than hashEffort to find
	// nothing out.
	hashAgain  = time.Hour
	hashEffort = time.Second
)

// codeTrees remembers the code of each directory, so that its content is read again only when it has changed.
type codeTrees map[string]codeTree

// codeTree is the code in a directory as it was read.
type codeTree struct {
	stamp string    // of names, sizes and times of change
	id    string    // of names, sizes and contents; empty if it could not be found out
	err   error     // why not
	again time.Time // when to try once more, beside an error
}

// id returns what identifies the code in a directory: the same names, sizes and contents have the same ID. The error
// says why it is not known.
func (t codeTrees) id(ctx context.Context, dir string) (string, error) {
	stamp, err := treeHash(ctx, dir, stampOf)
	if err != nil {
		return "", err
	}

	known := t[dir]
	if known.stamp == stamp && (known.err == nil || time.Now().Before(known.again)) {
		return known.id, known.err
	}

	began := time.Now()
	read := codeTree{stamp: stamp}
	read.id, read.err = treeHash(ctx, dir, contentOf)
	if time.Since(began) > hashEffort {
		read.again = began.Add(hashAgain)
	}
	t[dir] = read
	return read.id, read.err
}

// treeHash returns a hash of what write says of each file below a directory.
func treeHash(ctx context.Context, dir string, write func(to io.Writer, path string, file fs.FileInfo) error) (
	string, error,
) {
	top, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	w := treeWalk{ctx: ctx, sum: sum, write: write}
	if err := w.directory(dir, "", []fs.FileInfo{top}); err != nil {
		return "", err
	}
	return short(sum.Sum(nil)), nil
}

// treeWalk reads a tree, and follows links as Puppet does.
type treeWalk struct {
	ctx   context.Context
	sum   io.Writer
	write func(to io.Writer, path string, file fs.FileInfo) error
}

// directory reads a directory, whose name in the tree is given. The directories above it are known, itself included: a
// link to one of them leads round in a circle.
func (w treeWalk) directory(path, name string, above []fs.FileInfo) error {
	entries, err := entriesOf(path)
	if err != nil {
		return err
	}
	if len(entries) == maxEntries {
		return fmt.Errorf("%d entries or more in %s", maxEntries, path)
	}

	for _, e := range entries {
		if slices.Contains(notCode(), e.Name()) {
			continue
		}
		if err := w.entry(filepath.Join(path, e.Name()), filepath.Join(name, e.Name()), above); err != nil {
			return err
		}
	}
	return nil
}

// notCode returns the names of what deployment tools keep beside the code. These files differ from master to master.
func notCode() []string {
	return []string{".git", ".svn", ".hg", ".bzr", "CVS", r10kRecord, g10kRecord}
}

func (w treeWalk) entry(path, name string, above []fs.FileInfo) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("not read within %s: %s", hashTime, path)
	}

	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		fmt.Fprintf(w.sum, "%q leads nowhere\n", name)
		return nil
	}
	if err != nil {
		return err
	}

	fmt.Fprintf(w.sum, "%q %s %d\n", name, file.Mode().Type(), sizeOf(file))
	if file.IsDir() {
		isAbove := func(one fs.FileInfo) bool { return os.SameFile(one, file) }
		if slices.ContainsFunc(above, isAbove) {
			return nil
		}
		return w.directory(path, name, append(slices.Clip(above), file))
	}
	if file.Mode().IsRegular() {
		return w.write(w.sum, path, file)
	}
	return nil
}

// sizeOf returns the size of a regular file. That of a directory depends on the file system.
func sizeOf(file fs.FileInfo) int64 {
	if file.Mode().IsRegular() {
		return file.Size()
	}
	return 0
}

// stampOf writes what changes whenever the content does.
func stampOf(to io.Writer, _ string, file fs.FileInfo) error {
	inode := file.Sys().(*syscall.Stat_t)
	_, err := fmt.Fprintln(to, inode.Dev, inode.Ino, inode.Mtim, inode.Ctim)
	return err
}

// contentOf writes the content of a file, of the size that was seen.
func contentOf(to io.Writer, path string, file fs.FileInfo) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOATIME, 0)
	if errors.Is(err, fs.ErrPermission) { // O_NOATIME is for the owner
		f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return err
	}
	defer f.Close()

	_, err = io.CopyN(to, f, file.Size())
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("changed while it was read: %s", path)
	}
	return err
}
