package body

import "github.com/spillway-llm/spillway/core/wire/walk"

// Messages is what a decision needs of a conversation.
type Messages struct {
	// All is the array.
	All []byte
	// System is the first message when its role is system or developer, First
	// the first one of another role; nil without.
	System, First []byte
	// LastRole is the role of the last message.
	LastRole []byte
	// Types says which of the types asked for any content block has, the blocks
	// inside a block's own content included.
	Types [maxTypes]bool
}

const maxTypes = 4

// Messages reads the conversation: each message must be an object with a role.
// It looks out for content blocks of at most four types. What a text quotes is
// no block.
func (r *Reader) Messages(doc []byte, types ...string) Messages {
	const field = "messages"
	var m Messages
	start := r.Pos()
	if k := r.Kind(); k != '[' {
		r.Skip()
		r.Fail("%q must be an array, not %s.", field, kindName(k))
		return m
	}
	r.Enter()
	n := 0
	for ; r.err == nil && r.Element(); n++ {
		from := r.Pos()
		m.LastRole = r.message(n, types, &m)
		switch all := doc[from:r.Pos()]; {
		case n == 0 && isSystem(m.LastRole):
			m.System = all
		case m.First == nil && !isSystem(m.LastRole):
			m.First = all
		}
	}
	if n == 0 && r.Walker.Err() == nil {
		r.Fail("%q is empty. Send at least one message.", field)
	}
	m.All = doc[start:r.Pos()]
	return m
}

// message reads one message and returns its role.
func (r *Reader) message(n int, types []string, m *Messages) (role []byte) {
	if k := r.Kind(); k != '{' {
		r.Skip()
		r.Fail("messages[%d] must be an object with role and content, not %s.", n, kindName(k))
		return nil
	}
	r.Enter()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "role":
			v := r.Value()
			if !walk.IsString(v) && r.Walker.Err() == nil {
				r.Fail("messages[%d].role must be a string.", n)
			}
			role = walk.Bytes(v)
		case "content":
			r.blocks(types, m)
		default:
			r.Skip()
		}
	}
	if role == nil && r.Walker.Err() == nil {
		r.Fail("messages[%d] has no role. Set it to \"user\", \"assistant\" or \"system\".", n)
	}
	return role
}

// blocks looks at the types of the content blocks at the position, and at those
// inside them: tool results carry pictures.
func (r *Reader) blocks(types []string, m *Messages) {
	if r.Kind() != '[' || !r.Enter() {
		r.Skip()
		return
	}
	for r.Element() {
		if r.Kind() == '{' && r.Enter() {
			r.block(types, m)
		} else {
			r.Skip()
		}
	}
}

func (r *Reader) block(types []string, m *Messages) {
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "type":
			typ := walk.Bytes(r.Value())
			for i, t := range types[:min(len(types), maxTypes)] {
				m.Types[i] = m.Types[i] || string(typ) == t
			}
		case "content":
			r.blocks(types, m)
		default:
			r.Skip()
		}
	}
}

func isSystem(role []byte) bool { return string(role) == "system" || string(role) == "developer" }
