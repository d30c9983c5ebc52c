package lab

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// DEB builds pmcheck's package for this machine from what is in the repository
// now, and returns the file's path.
func DEB(tb testing.TB, version string) string {
	tb.Helper()
	built, err := filepath.Glob(filepath.Join(Packages(tb, File(tb, ""), version), "*.deb"))
	if err != nil || len(built) != 1 {
		tb.Fatalf("built the packages %v, want one", built)
	}
	return built[0]
}

// Packages builds the packages and their repositories for this machine from a tree, once per test process, and
// returns the directory in which they are. Without a version they have that of the tree.
func Packages(tb testing.TB, tree, version string) string {
	tb.Helper()
	packages.Lock()
	defer packages.Unlock()
	key := [2]string{tree, version}
	if dist, ok := packages.built[key]; ok {
		return dist
	}

	self, err := os.Executable() // go test removes its directory
	Must(tb, err)
	dist, err := os.MkdirTemp(filepath.Dir(self), "packages-")
	Must(tb, err)
	cmd := exec.Command("packaging/build", "packages", runtime.GOARCH)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "DIST="+dist, "VERSION="+version)
	if err := RunOutside(cmd); err != nil {
		os.RemoveAll(dist)
		tb.Fatal(err)
	}
	packages.built[key] = dist
	return dist
}

// packages are the directories that this process built, by tree and version.
var packages = struct {
	sync.Mutex
	built map[[2]string]string
}{built: map[[2]string]string{}}

// Serve serves a directory to the hosts of the network until the test ends, and returns its URL.
func (n *Network) Serve(dir string) string {
	n.tb.Helper()
	server := &http.Server{Handler: http.FileServer(http.Dir(dir))}
	var l net.Listener
	if err := n.Inside(func() (err error) { l, err = net.Listen("tcp", BridgeAddress+":0"); return err }); err != nil {
		n.tb.Fatal(err)
	}
	go server.Serve(l)
	n.tb.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// DebianDEB downloads the package of Debian that this machine would install, and returns
// the file's path.
func DebianDEB(tb testing.TB, name string) string {
	tb.Helper()
	dir := tempDir(tb)
	cmd := exec.Command("apt-get", "download", name)
	cmd.Dir = dir
	Must(tb, RunOutside(cmd))
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) != 1 {
		tb.Fatalf("downloaded the packages %v, want one", files)
	}
	return files[0]
}
