// Package health keeps sliding figures of calls and chooses among nodes.
package health
