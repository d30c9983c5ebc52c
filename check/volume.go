package check

import "fmt"

// volume is the state of a file system for users other than root.
type volume struct {
	device             uint64
	size, free         uint64 // bytes
	inodes, freeInodes uint64 // zero where the file system has no such limit
	readOnly           bool   // the file system itself, not just the view of this process
}

// A file system is full with fewer free inodes than this: the facts and the
// report of each agent are files of their own.
const fullInodes = 100

// A file system is never full while more than this share of it is free.
const fullPercent = 5

// full says what there is too little of; empty while there is enough.
func (v volume) full(mebibytes int) string {
	switch {
	case v.size > 0 && v.free < min(uint64(mebibytes)<<20, v.size/100*fullPercent):
		return fmt.Sprintf("%d MiB are free", v.free>>20)
	case v.freeInodes < min(fullInodes, v.inodes/100*fullPercent):
		return fmt.Sprintf("%d inodes are free", v.freeInodes)
	}
	return ""
}

// String says how much is free.
func (v volume) String() string {
	s := fmt.Sprintf("%d%% (%d MiB) free", percent(v.free, v.size), v.free>>20)
	if v.inodes > 0 {
		s += fmt.Sprintf(", %d%% of the inodes", percent(v.freeInodes, v.inodes))
	}
	return s
}

// percent rounds down. All of nothing is free.
func percent(part, whole uint64) int {
	if whole == 0 {
		return 100
	}
	return int(float64(part) / float64(whole) * 100)
}
