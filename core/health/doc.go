// Package health keeps sliding figures of calls, chooses among nodes and says when to probe them.
package health
