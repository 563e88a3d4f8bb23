package translate

// toolCall is one call in the history.
type toolCall struct {
	own, id  string // the caller's id and the target's
	name     string // the caller's name for the tool
	path     string
	answered bool
	object   []byte // the call as the target has it
}

// openCalls are the calls of one turn that wait for their results. Its zero value
// has none.
type openCalls struct {
	calls []toolCall
	// by are the positions of calls without a result, by what results name them by.
	by map[string][]int
}

func newOpenCalls(calls []toolCall, by func(*toolCall) string) openCalls {
	o := openCalls{calls: calls, by: make(map[string][]int, len(calls))}
	for i := range calls {
		name := by(&calls[i])
		o.by[name] = append(o.by[name], i)
	}
	return o
}

// answer takes note of a result and returns its call, nil when there is none. Of
// calls with the same name the first one is answered.
func (o *openCalls) answer(name string) *toolCall {
	waiting := o.by[name]
	if len(waiting) == 0 {
		return nil
	}
	o.by[name] = waiting[1:]
	call := &o.calls[waiting[0]]
	call.answered = true
	return call
}

// unanswered blocks at every call without a result: both vendors refuse the
// conversation.
func (o *openCalls) unanswered(d *draft) {
	for i := range o.calls {
		if !o.calls[i].answered {
			d.block(o.calls[i].path + ".id=unanswered")
		}
	}
}
