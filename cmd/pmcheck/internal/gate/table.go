package gate

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The gate's own table. Nothing else in the ruleset is read or changed.
const (
	tableName  = "pmcheck"
	inputName  = "input"
	refuseName = "refuse"
)

// priority puts the gate's chain after every filter: what a firewall drops gets no reset
// either. firewalld has the highest usual one, filter + 10.
const priority = 100

// table is the gate's table in nftables. It exists exactly while the gate is closed:
//
//	table inet pmcheck {
//		chain input {
//			type filter hook input priority 100; policy accept;
//			tcp dport 8140 tcp flags & (fin|syn|rst|ack) == syn jump refuse
//		}
//		chain refuse {
//			iifname "lo" return
//			ip saddr 192.0.2.0/24 return
//			counter reject with tcp reset
//		}
//	}
//
// Only the first packet of a connection matches. The state of connection tracking is not
// used: where nothing else tracks connections, the tracking that a rule starts takes the
// next packet of an established connection for the first packet of a new one.
type table struct {
	conn    *nftables.Conn
	handles []uint64 // of its rules, as the kernel numbered them
}

func newTable() (*table, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	return &table{conn: conn}, nil
}

// ownTable names the table.
func ownTable() *nftables.Table {
	return &nftables.Table{Family: nftables.TableFamilyINet, Name: tableName}
}

// close makes the table for a port, or replaces it, in one transaction.
func (t *table) close(port uint16, except []netip.Prefix) error {
	t.conn.AddTable(ownTable()) // so that there is one to delete
	t.conn.DelTable(ownTable())
	tab := t.conn.AddTable(ownTable())

	refuse := t.conn.AddChain(&nftables.Chain{Name: refuseName, Table: tab})
	policy := nftables.ChainPolicyAccept
	input := t.conn.AddChain(&nftables.Chain{
		Name:     inputName,
		Table:    tab,
		Type:     nftables.ChainTypeFilter,
		Hooknum:  nftables.ChainHookInput,
		Priority: nftables.ChainPriorityRef(priority),
		Policy:   &policy,
	})

	t.add(refuse, loopback(), &expr.Verdict{Kind: expr.VerdictReturn})
	for _, network := range except {
		t.add(refuse, from(network), &expr.Verdict{Kind: expr.VerdictReturn})
	}
	t.add(refuse, nil, &expr.Counter{}, &expr.Reject{Type: unix.NFT_REJECT_TCP_RST})
	t.add(input, opens(port), &expr.Verdict{Kind: expr.VerdictJump, Chain: refuseName})

	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("nftables: close: %w", err)
	}
	var err error
	t.handles, _, err = t.read()
	return err
}

func (t *table) add(c *nftables.Chain, matches []expr.Any, then ...expr.Any) {
	t.conn.AddRule(&nftables.Rule{Table: c.Table, Chain: c, Exprs: append(matches, then...)})
}

// open removes the table, if there is one.
func (t *table) open() error {
	tables, err := t.conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return fmt.Errorf("nftables: list tables: %w", err)
	}
	exists := slices.ContainsFunc(tables, func(o *nftables.Table) bool { return o.Name == tableName })
	if !exists {
		return nil
	}

	t.conn.DelTable(ownTable())
	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("nftables: open: %w", err)
	}
	return nil
}

// intact reports whether the table is as close left it, and how many connection attempts it
// has refused.
func (t *table) intact() (refused uint64, ok bool) {
	handles, refused, err := t.read()
	return refused, err == nil && slices.Equal(handles, t.handles)
}

// read returns the handles of the rules, and the count of the rule that refuses.
func (t *table) read() (handles []uint64, refused uint64, err error) {
	for _, name := range []string{inputName, refuseName} {
		list, err := t.conn.GetRules(ownTable(), &nftables.Chain{Name: name, Table: ownTable()})
		if err != nil {
			return nil, 0, fmt.Errorf("nftables: read: %w", err)
		}
		for _, rule := range list {
			handles = append(handles, rule.Handle)
			for _, e := range rule.Exprs {
				if c, is := e.(*expr.Counter); is {
					refused = c.Packets
				}
			}
		}
	}
	return handles, refused, nil
}

// opens matches the first packet of a TCP connection to a port.
func opens(port uint16) []expr.Any {
	const flagsAt, fin, syn, rst, ack = 13, 0x01, 0x02, 0x04, 0x10
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		equal([]byte{unix.IPPROTO_TCP}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		equal(binaryutil.BigEndian.PutUint16(port)),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: flagsAt, Len: 1},
		mask([]byte{fin | syn | rst | ack}),
		equal([]byte{syn}),
	}
}

// loopback matches what comes from this host itself, to whichever of its addresses.
func loopback() []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, "lo")
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, equal(name)}
}

// from matches what comes from a network.
func from(network netip.Prefix) []expr.Any {
	family := byte(unix.NFPROTO_IPV4)
	sourceAt := uint32(12)
	if network.Addr().Is6() {
		family = unix.NFPROTO_IPV6
		sourceAt = 8
	}

	address := network.Masked().Addr().AsSlice()
	bits := make([]byte, len(address))
	for i := range network.Bits() {
		bits[i/8] |= 0x80 >> (i % 8)
	}

	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		equal([]byte{family}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: sourceAt, Len: uint32(len(address))},
		mask(bits),
		equal(address),
	}
}

func equal(data []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

func mask(bits []byte) expr.Any {
	return &expr.Bitwise{
		SourceRegister: 1,
		DestRegister:   1,
		Len:            uint32(len(bits)),
		Mask:           bits,
		Xor:            make([]byte, len(bits)),
	}
}
