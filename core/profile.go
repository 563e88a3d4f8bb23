package core

// Profile says how a server deviates from the vendor whose wire format it
// speaks (wire.md 2.5). The zero value deviates in nothing: it is the vendor
// itself, taken at what its API accepts for every model. It is data: presets of
// it are shipped as JSON and may be replaced by an operator.
type Profile struct {
	// Name is the preset that the profile began as, "" without one.
	Name string `json:"name,omitempty"`
	// AsOf is the day the server was looked at, "" when nobody did.
	AsOf string `json:"as_of,omitempty"`
	// MaxTokensField is the output limit's name, "" for max_completion_tokens.
	MaxTokensField string `json:"max_tokens_field,omitempty"`
	// SystemRole is the role of system messages, "" for system.
	SystemRole string `json:"system_role,omitempty"`
	// Refuses are fields of the body that the server answers with an error and
	// that are therefore never sent, for example stream_options.
	Refuses []string `json:"refuses,omitempty"`
	// Takes are fields beyond the vendor's API that the server understands, for
	// example top_k.
	Takes []string `json:"takes,omitempty"`
	// ToolID is the form that tool call ids must have.
	ToolID ToolIDRule `json:"tool_id,omitzero"`
	// EchoReasoning is the field in which a turn with tool calls must bring its
	// reasoning back, "" where none must.
	EchoReasoning string `json:"echo_reasoning,omitempty"`
	// NoContentParts is a server that takes content as one string only, and so no
	// pictures and files.
	NoContentParts bool `json:"no_content_parts,omitempty"`
	// PlainTexts is a server that is given a content of texts as one string,
	// because not every chat template reads parts.
	PlainTexts bool `json:"plain_texts,omitempty"`
	// NoLateSystem is a server whose chat template takes a system message at the
	// start only.
	NoLateSystem bool `json:"no_late_system,omitempty"`
	// NoFiles is a server without file parts, and so without PDF documents.
	NoFiles bool `json:"no_files,omitempty"`
	// NoImageURLs is a server that takes a picture's bytes and fetches none.
	NoImageURLs bool `json:"no_image_urls,omitempty"`
}

// ToolIDRule is a form for tool call ids. The zero value allows every id.
type ToolIDRule struct {
	// Least and Most bound an id's length in bytes; a Most of 0 does not.
	Least int `json:"least,omitempty"`
	Most  int `json:"most,omitempty"`
	// Alphanumeric allows ASCII letters and digits only.
	Alphanumeric bool `json:"alphanumeric,omitempty"`
}

// Traits are what is known of one model beyond its capabilities (wire.md 1.7 and
// 2.4): what it refuses and which words it knows. The zero value is a model of
// which nothing is known; what it might refuse is then left out with a warning.
type Traits struct {
	// AsOf is the day the model was looked at, "" when nobody did.
	AsOf string `json:"as_of,omitempty"`
	// Sampling says which of temperature and top_p the model takes.
	Sampling Sampling `json:"sampling,omitempty"`
	// Thinking are the thinking types that an Anthropic model takes: adaptive,
	// enabled, disabled, between_tools. Empty is unknown.
	Thinking []string `json:"thinking,omitempty"`
	// Efforts are the words for effort that the model takes, of none, minimal,
	// low, medium, high, xhigh and max. Empty is unknown.
	Efforts []string `json:"efforts,omitempty"`
	// NoForcedTools is a model that refuses a tool choice other than auto and none.
	NoForcedTools bool `json:"no_forced_tools,omitempty"`
	// SystemTurns is an Anthropic model that takes system messages in mid-conversation.
	SystemTurns bool `json:"system_turns,omitempty"`
	// NoStop is a model that refuses stop sequences.
	NoStop bool `json:"no_stop,omitempty"`
	// NoReasoningWithTools is a model that takes function tools only with an
	// effort of none.
	NoReasoningWithTools bool `json:"no_reasoning_with_tools,omitempty"`
}

// Sampling says which sampling parameters a model takes.
type Sampling string

// The ways of sampling.
const (
	// SamplingDefault is both on the OpenAI wire and none on Anthropic's, whose
	// models gave them up.
	SamplingDefault Sampling = ""
	// SamplingBoth takes temperature and top_p together.
	SamplingBoth Sampling = "both"
	// SamplingOne takes one of the two at a time.
	SamplingOne Sampling = "one"
	// SamplingNone takes neither.
	SamplingNone Sampling = "none"
	// SamplingUnlessReasoning takes both with an effort of none, else neither.
	SamplingUnlessReasoning Sampling = "unless_reasoning"
)

// Samplings returns the ways that can be written in data.
func Samplings() []Sampling {
	return []Sampling{SamplingBoth, SamplingOne, SamplingNone, SamplingUnlessReasoning}
}

// Efforts returns the words for effort in rising order.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// ThinkingTypes returns the thinking types of the Anthropic wire.
func ThinkingTypes() []string { return []string{"adaptive", "enabled", "disabled", "between_tools"} }
