// Package differential_test compares Spillway's mechanisms with other libraries:
// where their semantics agree, random histories must lead to the same states;
// where they don't, a test shows the difference that docs/differences.md explains.
package differential_test
