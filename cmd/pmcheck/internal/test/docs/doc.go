// Package docs tests the documents of the repository: that their links lead to
// files and headings that exist, and that Puppet has the commands that they name; and the workflows.
package docs
