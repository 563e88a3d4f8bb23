// Package console is the operators' web console: pages, their handlers and the
// live view, all under /console/.
//
// It reads and changes the rest of the program only through the ports declared
// in ports.go. Every page works without JavaScript; htmx and live.js add to it.
package console

//go:generate go tool templ generate -log-level error
