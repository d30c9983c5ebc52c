package systemd_test

import (
	"context"
	"fmt"

	"github.com/pmcheck/pmcheck/systemd"
)

// A daemon notifies systemd that it is ready, says what it does, and follows the state of another unit.
func Example() {
	_ = systemd.Ready("answering on :9200")
	_ = systemd.Status("healthy")

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // until then, it would follow
	systemd.WatchUnit(ctx, []string{"puppetserver.service"}, func(s systemd.UnitState) {
		fmt.Println(s.Unit, s.Active)
	})
}
