package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/core"
)

// toolIDs gives tool calls ids that the target takes: the caller's own where
// they fit, otherwise ones made from them, the same for the same conversation,
// so that the target's prompt cache still hits on the next turn. No two calls of
// a request get the same one.
type toolIDs struct {
	rule   core.ToolIDRule
	word   bool // letters, digits, _ and - only
	prefix string
	salt   string // of what made ids are made
	used   map[string]bool
	made   map[string]int // how many were made from an id
}

// assign returns the id of another call.
func (t *toolIDs) assign(own string) string {
	if t.used == nil {
		t.used, t.made = map[string]bool{}, map[string]int{}
	}
	id := own
	for !t.fits(id) || t.used[id] {
		id = t.make(own, t.made[own])
		t.made[own]++
	}
	t.used[id] = true
	return id
}

func (t *toolIDs) fits(id string) bool {
	switch {
	case id == "", len(id) < t.rule.Least, t.rule.Most > 0 && len(id) > t.rule.Most:
		return false
	case t.rule.Alphanumeric:
		return strings.IndexFunc(id, func(r rune) bool { return !alphanumeric(r) }) < 0
	case t.word:
		return isWord(id)
	}
	return true
}

// madeLetters is how long a made id is where the rule doesn't say.
const madeLetters = 24

// make returns the n-th id made from the caller's.
func (t *toolIDs) make(own string, n int) string {
	sum := sha256.Sum256([]byte(t.salt + "\x00" + own + "\x00" + strconv.Itoa(n)))
	letters := hex.EncodeToString(sum[:])
	want := max(madeLetters, t.rule.Least)
	if t.rule.Most > 0 {
		want = min(want, t.rule.Most)
	}
	if t.rule.Alphanumeric || want <= len(t.prefix)+8 {
		return letters[:min(want, len(letters))]
	}
	return t.prefix + letters[:want-len(t.prefix)]
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// isWord reports whether s is what Anthropic takes for an id, and both vendors
// for a name.
func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !alphanumeric(r) && r != '_' && r != '-' }) < 0
}

// answerIDs are the ids of the calls in one answer, for an Anthropic caller who
// may send them back to any vendor. Made ones differ from answer to answer,
// because a conversation must not have one twice.
func answerIDs(answer []byte) toolIDs {
	return toolIDs{word: true, prefix: "toolu_", salt: string(answer)}
}

// toolNames shortens tool names to what the target takes.
type toolNames struct{ given Names }

// maxToolName is OpenAI's limit, Anthropic's is twice that.
const maxToolName = 64

// shortenedTo is what is kept of a name that is too long or has letters that no
// vendor takes: the rest tells it from others that begin alike.
const shortenedTo = 55

// fit returns the target's name for a tool.
func (t *toolNames) fit(own string, most int) string {
	if len(own) <= most && isWord(own) {
		return own
	}
	sum := sha256.Sum256([]byte(own))
	kept := strings.Map(func(r rune) rune {
		if alphanumeric(r) || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, own)
	short := kept[:min(len(kept), shortenedTo)] + "_" + hex.EncodeToString(sum[:4])
	if t.given == nil {
		t.given = Names{}
	}
	t.given[short] = own
	return short
}
