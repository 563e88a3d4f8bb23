package access

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Prefix starts every key, so that people and secret scanners recognise one.
const Prefix = "sw_"

// keyBytes gives 160 bits, which are 32 characters of base32.
const keyBytes = 20

// maxKeyLength bounds what is hashed for a stranger; every key is shorter.
const maxKeyLength = 128

// NewKey draws a key and returns it with its hash. Only the hash is to be
// stored; the key is shown once. It fails when random does.
func NewKey(random io.Reader) (key string, hash [sha256.Size]byte, err error) {
	var raw [keyBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", hash, fmt.Errorf("draw a key: %w", err)
	}
	key = Prefix + strings.ToLower(base32.StdEncoding.EncodeToString(raw[:]))
	return key, Hash(key), nil
}

// Hash is what is stored of a key. The key is 160 random bits, so one round of
// SHA-256 is enough, and comparing hashes tells a guesser nothing by its timing.
func Hash(key string) [sha256.Size]byte {
	if len(key) > maxKeyLength {
		return sha256.Sum256([]byte(key))
	}
	var b [maxKeyLength]byte // on the stack: this runs for every request
	return sha256.Sum256(b[:copy(b[:], key)])
}

// Presented returns the key that a request carries: x-api-key, api-key,
// x-goog-api-key or Authorization: Bearer, in this order, "" without one. SDKs
// differ in where they put it, and those that send two expect x-api-key to win.
func Presented(h http.Header) string {
	for _, name := range [...]string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return v[0]
		}
	}
	v := h["Authorization"]
	if len(v) == 0 {
		return ""
	}
	const scheme = "bearer "
	if len(v[0]) <= len(scheme) || !strings.EqualFold(v[0][:len(scheme)], scheme) {
		return ""
	}
	return strings.TrimSpace(v[0][len(scheme):])
}
