// Package front is the door of the daemon: it binds listeners, admits clients,
// times them out, speaks TLS, and accepts HTTP/1.1 requests without a Host
// header. It knows nothing of Puppet, of balancers, or of what is answered.
package front
