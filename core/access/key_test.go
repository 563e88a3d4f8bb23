package access_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-llm/spillway/core/access"
)

func TestNewKey_Form(t *testing.T) {
	t.Parallel()
	key, hash, err := access.NewKey(bytes.NewReader(bytes.Repeat([]byte{0xa5}, 20)))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^sw_[a-z2-7]{32}$`).MatchString(key) {
		t.Errorf("key %q is not sw_ and 32 characters of base32", key)
	}
	if hash != sha256.Sum256([]byte(key)) {
		t.Error("the hash is not the key's SHA-256")
	}
}

func TestNewKey_NoRandomness(t *testing.T) {
	t.Parallel()
	cause := errors.New("no entropy")
	if _, _, err := access.NewKey(iotest.ErrReader(cause)); !errors.Is(err, cause) {
		t.Errorf("err = %v, want the reader's", err)
	}
	if _, _, err := access.NewKey(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v, want an unexpected end: a short key must never be made", err)
	}
}

func TestHash_LongKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 127, 128, 129, 1000} {
		key := strings.Repeat("k", n)
		if access.Hash(key) != sha256.Sum256([]byte(key)) {
			t.Errorf("hash of %d characters is not their SHA-256", n)
		}
	}
}

func TestPresented(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header map[string]string
		want   string
	}{
		{"none", nil, ""},
		{"x-api-key", map[string]string{"x-api-key": "a"}, "a"},
		{"api-key", map[string]string{"api-key": "b"}, "b"},
		{"x-goog-api-key", map[string]string{"x-goog-api-key": "c"}, "c"},
		{"bearer", map[string]string{"authorization": "Bearer d"}, "d"},
		{"bearer in any case, spaces", map[string]string{"authorization": "bEARER   d "}, "d"},
		{"another scheme", map[string]string{"authorization": "Basic d"}, ""},
		{"scheme without a key", map[string]string{"authorization": "Bearer "}, ""},
		{"x-api-key wins over bearer", map[string]string{"x-api-key": "a", "authorization": "Bearer d"}, "a"},
		{"api-key wins over bearer", map[string]string{"api-key": "b", "authorization": "Bearer d"}, "b"},
		{"x-api-key wins over api-key", map[string]string{"x-api-key": "a", "api-key": "b"}, "a"},
		{"empty header is absent", map[string]string{"x-api-key": "", "authorization": "Bearer d"}, "d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range tt.header {
				h.Set(k, v)
			}
			if got := access.Presented(h); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzPresented holds that a key is always a part of the header it came in.
func FuzzPresented(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer ", "bearer x", "Basic eA==", "Bearer  \t", "BEARER sw_a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if got := access.Presented(http.Header{"Authorization": {v}}); !strings.Contains(v, got) {
			t.Errorf("%q from %q", got, v)
		}
	})
}
