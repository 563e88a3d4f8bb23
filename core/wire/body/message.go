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
}

// Messages reads the conversation: each message must be an object with a role.
func (r *Reader) Messages(doc []byte) Messages {
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
		m.LastRole = r.role(n)
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

// role reads one message and returns its role.
func (r *Reader) role(n int) (role []byte) {
	if k := r.Kind(); k != '{' {
		r.Skip()
		r.Fail("messages[%d] must be an object with role and content, not %s.", n, kindName(k))
		return nil
	}
	r.Enter()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		v := r.Value()
		if string(name) != "role" {
			continue
		}
		if !walk.IsString(v) && r.Walker.Err() == nil {
			r.Fail("messages[%d].role must be a string.", n)
		}
		role = walk.Bytes(v)
	}
	if role == nil && r.Walker.Err() == nil {
		r.Fail("messages[%d] has no role. Set it to \"user\", \"assistant\" or \"system\".", n)
	}
	return role
}

func isSystem(role []byte) bool { return string(role) == "system" || string(role) == "developer" }
