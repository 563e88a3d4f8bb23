// Package access knows the callers' keys and what each of them grants.
package access
