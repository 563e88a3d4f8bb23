// Package upstream makes one attempt over HTTP at one node of a provider.
package upstream
