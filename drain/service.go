package drain

// Service is the name of a service of a master, as Puppet Server's Status API has it.
type Service string

// The values of [Service] with a meaning of their own. A configuration may name other services beside them.
const (
	// Master is the master itself, which balancers ask for at "/".
	Master Service = "server"
	// EveryService is the master and every service beside it. It is what a hold covers that names no service.
	EveryService Service = ""
)

// Covers reports whether what is said of s concerns one service.
func (s Service) Covers(one Service) bool { return s == EveryService || s == one }

// Shown returns the service whose state is shown for s. For every service that is the master.
func (s Service) Shown() Service {
	if s == EveryService {
		return Master
	}
	return s
}
