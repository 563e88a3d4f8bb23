// Package policy compiles, checks and evaluates the policies of a revision.
//
// [Build] turns a set of files and a catalog into a [Policy]: everything with a
// finite domain is evaluated once into tables, and routing stays as a
// [core.Decider] that answers per request. Whatever compiles or runs a draft
// belongs into a [Worker] first: an evaluation can be stopped, a compilation
// can't.
package policy
