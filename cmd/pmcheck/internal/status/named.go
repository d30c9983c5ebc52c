package status

import (
	"net/netip"
	"slices"
	"strings"
)

// Named returns the members of a fleet that mean the host with these names. If the fleet lists
// one of the names as it is, the others do not count: two domains may have a host of one name.
// If nothing but such a name is listed, and for several hosts, none is meant.
func Named(fleet, names []string) []string {
	listed := meaning(fleet, names, strings.EqualFold)
	if len(listed) > 0 {
		names = nil
		for _, member := range listed {
			names = append(names, HostOf(member))
		}
	}
	list := meaning(fleet, names, SameHost)
	for _, member := range list {
		if len(meaning(list, []string{HostOf(member)}, SameHost)) < len(list) { // not all are one host
			return listed
		}
	}
	return list
}

// meaning returns the members of a fleet whose host has one of the names.
func meaning(fleet, names []string, same func(a, b string) bool) (list []string) {
	for _, member := range fleet {
		host := HostOf(member)
		if host != "" && slices.ContainsFunc(names, func(name string) bool { return same(host, name) }) {
			list = append(list, member)
		}
	}
	return list
}

// HostOf returns the name or address of a member of a fleet in lower case, and "" if it is not a
// member.
func HostOf(member string) string {
	u, err := MemberURL(member)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// SameHost reports whether two names mean one host. A name without a domain means the
// host of that name in any.
func SameHost(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a == b {
		return true
	}
	_, notA := netip.ParseAddr(a)
	_, notB := netip.ParseAddr(b)
	if notA == nil || notB == nil {
		return false
	}
	shortA, domainA, _ := strings.Cut(a, ".")
	shortB, domainB, _ := strings.Cut(b, ".")
	return shortA == shortB && (domainA == "" || domainB == "")
}
