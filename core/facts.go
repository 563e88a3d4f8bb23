package core

// Facts are what a request itself says, already bucketed: a policy sees exactly
// these values, so a memoised answer is the answer it would give again. Facts
// are comparable and may be a map key.
type Facts struct {
	UseCase         string   `json:"use_case"`
	Task            Task     `json:"task"`
	Priority        int      `json:"priority"` // 0 to 10
	Audience        Audience `json:"audience"`
	Quality         Quality  `json:"quality"`
	LatencyBudgetMS int      `json:"latency_budget_ms"`
	InputTokens     int      `json:"input_tokens"` // estimate, two significant digits, rounded up
	MaxTokens       int      `json:"max_tokens"`   // two significant digits, rounded up; 0: not said
	Stream          bool     `json:"stream"`
	// Model is the model name that the caller asked for, "" for none.
	Model string `json:"model"`
	// Target is the id of the configured target that Model names, "" for none.
	Target         string `json:"target"`
	TenantClass    string `json:"tenant_class"`
	Needs          Needs  `json:"needs"`
	Drill          bool   `json:"drill"`
	ForceFallback  bool   `json:"force_fallback"`
	Language       string `json:"language"` // "en" or "ja"
	AffinityTarget string `json:"affinity_target"`
}

// Needs are the abilities that a target must have to serve the request.
type Needs struct {
	Tools      bool `json:"tools"`
	Images     bool `json:"images"`
	Documents  bool `json:"documents"`
	JSONSchema bool `json:"json_schema"`
	Thinking   bool `json:"thinking"`
	Prefill    bool `json:"prefill"`
}

// Task is the kind of work, for the fit matrix (R2.2).
type Task string

// The tasks. TaskSimple is the default.
const (
	TaskSimple   Task = "simple"
	TaskComplex  Task = "complex"
	TaskCreative Task = "creative"
	TaskCode     Task = "code"
)

// Audience is who reads the disclosures; it comes from the caller's key alone.
type Audience string

// The audiences.
const (
	AudienceFree  Audience = "free"
	AudiencePaid  Audience = "paid"
	AudienceAdmin Audience = "admin"
)

// Quality is the caller's trade between price and quality.
type Quality string

// The qualities. QualityBalanced is the default.
const (
	QualityCost     Quality = "cost"
	QualityBalanced Quality = "balanced"
	QualityBest     Quality = "quality"
)

// The default facts (requirements.md, "Facts and their defaults").
const (
	DefaultUseCase         = "assistant"
	DefaultPriority        = 5
	DefaultLatencyBudgetMS = 5000
)

// Tasks, Audiences and Qualities return the closed lists, for validation and
// for tables over them.
func Tasks() []Task { return []Task{TaskSimple, TaskComplex, TaskCreative, TaskCode} }

// Audiences returns the audiences in rising order of what they are told.
func Audiences() []Audience { return []Audience{AudienceFree, AudiencePaid, AudienceAdmin} }

// Qualities returns the qualities.
func Qualities() []Quality { return []Quality{QualityCost, QualityBalanced, QualityBest} }

// RoundUp2 rounds n up to two significant digits: an estimate has no more, and
// equal estimates make decisions cacheable. Negative numbers become 0.
func RoundUp2(n int) int {
	if n <= 0 {
		return 0
	}
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}
