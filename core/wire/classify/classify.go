// Package classify turns a vendor's error answer into a failure, by a table that
// each wire format brings along.
package classify

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/retry"
)

// Rule is one row of a format's table. A field that is empty fits everything;
// the first row that fits decides.
type Rule struct {
	Status     int
	Type, Code string
	// Prefix is how the vendor's message must start. Messages are no interface,
	// so a row may look at one only where the vendor gives no other sign.
	Prefix string
	Kind   core.Kind
}

// Signs are what an error answer says about itself.
type Signs struct {
	// Status is the HTTP status, 0 for an error event inside a stream.
	Status int
	// Type and Code are the vendor's words, "" unless they look like words of a
	// closed list.
	Type, Code string
	// Message is the vendor's text, cut and without control characters.
	Message string
}

func (r *Rule) fits(s *Signs) bool {
	return (r.Status == 0 || r.Status == s.Status) && (r.Type == "" || r.Type == s.Type) &&
		(r.Code == "" || r.Code == s.Code) && strings.HasPrefix(s.Message, r.Prefix)
}

// Find returns the kind of the first row that fits, otherwise the given kind.
func Find(table []Rule, s Signs, otherwise core.Kind) core.Kind {
	for i := range table {
		if table[i].fits(&s) {
			return table[i].Kind
		}
	}
	return otherwise
}

// ByStatus is what a status means when no row knows better: a 4xx is about the
// request, a 5xx about the vendor, and anything else is no error answer at all.
func ByStatus(status int) core.Kind {
	switch {
	case status >= 500 && status <= 599:
		return core.KindServerError
	case status >= 400 && status <= 499:
		return core.KindInvalidRequest
	default:
		return core.KindBadResponse
	}
}

// Answer is the failure of an attempt that was answered with an error.
func Answer(table []Rule, status int, h http.Header, body []byte, now time.Time) *core.Error {
	s := Read(body)
	s.Status = status
	e := s.failure("read the answer", Find(table, s, ByStatus(status)))
	hint := retry.ParseHint(h, now)
	e.RetryAfter, e.HintGiven = hint.Delay, hint.Given
	e.NoRetry = h.Get("X-Should-Retry") == "false"
	return e
}

// Inside is the failure of an answer that began as a success and turned out to
// be an error: otherwise says what an unknown one is. Only an overload may be
// tried again on the same target (R6.5).
func Inside(table []Rule, status int, body []byte, otherwise core.Kind) *core.Error {
	s := Read(body)
	s.Status = status
	e := s.failure("read the answer", Find(table, s, otherwise))
	e.NoRetry = e.Kind != core.KindOverloaded
	return e
}

// failure drops the vendor's text when the account is at fault: it may quote
// the key, and is none of the caller's business.
func (s *Signs) failure(op string, k core.Kind) *core.Error {
	e := &core.Error{Op: op, Kind: k, Status: s.Status, Type: s.Type, Code: s.Code, Message: s.Message}
	if k.AccountFault() {
		e.Message = ""
	}
	return e
}

// maxMessage is how much of a vendor's text goes on to the caller, in bytes.
const maxMessage = 2 << 10

// clean makes a vendor's text safe to pass on.
func clean(text []byte) string {
	cut := len(text) > maxMessage
	if cut {
		text = text[:maxMessage]
		for i := 0; i < utf8.UTFMax && !utf8.Valid(text[len(text)-min(len(text), utf8.UTFMax):]); i++ {
			text = text[:len(text)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text), "�"))
}

// word returns text when it can be a word of a closed list, so that a prompt
// that a vendor echoes in the wrong place goes no further.
func word(text []byte) string {
	if len(text) == 0 || len(text) > 64 {
		return ""
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return ""
		}
	}
	return string(text)
}
