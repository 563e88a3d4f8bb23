// Package test drives the built server as its users do: official clients, a
// browser, curl-like requests, and kill -9. It is a module of its own, so that
// an embedder's module graph never sees the clients.
package test
