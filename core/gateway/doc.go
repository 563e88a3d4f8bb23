// Package gateway answers callers over HTTP in both wire formats.
package gateway
