package puppetclient

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"
)

// linked returns c with the issuer written as the CA in the bundle writes its name. Puppet
// Server writes UTF8String into every certificate that it signs, but an imported CA may have
// PrintableString in its own (Vault's has). Agents find the CA, since OpenSSL compares what
// the names say; crypto/x509 compares their bytes. The signature is verified all the same.
func (m *material) linked(c *x509.Certificate) *x509.Certificate {
	named := func(same func(a, b []byte) bool) int {
		return slices.IndexFunc(m.bundle, func(ca *x509.Certificate) bool { return same(ca.RawSubject, c.RawIssuer) })
	}
	if named(bytes.Equal) >= 0 {
		return c
	}
	i := named(sameName)
	if i < 0 {
		return c
	}
	copied := *c
	copied.RawIssuer = m.bundle[i].RawSubject
	return &copied
}

// sameName compares two names in DER by what they say: without regard to the type of their
// strings, to case, and to how much space is between words.
func sameName(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y pkix.RDNSequence
	if !whole(asn1.Unmarshal(a, &x)) || !whole(asn1.Unmarshal(b, &y)) {
		return false
	}
	return slices.EqualFunc(x, y, func(x, y pkix.RelativeDistinguishedNameSET) bool {
		return slices.EqualFunc(x, y, func(x, y pkix.AttributeTypeAndValue) bool {
			return x.Type.Equal(y.Type) && strings.EqualFold(words(x.Value), words(y.Value))
		})
	})
}

func whole(rest []byte, err error) bool { return err == nil && len(rest) == 0 }

func words(value any) string { return strings.Join(strings.Fields(fmt.Sprint(value)), " ") }
