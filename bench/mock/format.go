package mock

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// modelMark stands for the model's name in prepared answers.
const modelMark = "@model@"

// EndMark ends the text of every JSON answer, and of nothing else.
const EndMark = "(the end)"

// ChunkMark is the text that every chunk of a stream begins with; its number
// and a blank follow.
const ChunkMark = "piece "

// format is one wire format in prepared bytes.
type format struct {
	answer, open, end []byte
	refused           []byte
	refusedStatus     int
	chunkHead         string // before the chunk's text
	chunkTail         string
}

// answerText is about 1.1 kB, so that a JSON answer is about 1.5 kB.
func answerText() string {
	return strings.Repeat("Water finds another way around whatever stands in it. ", 21) + EndMark
}

func anthropic() format {
	const message = `{"id":"msg_mock","type":"message","role":"assistant","model":"` + modelMark + `","content":%s,` +
		`"stop_reason":%s,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":480,"cache_creation_input_tokens":0,` +
		`"cache_read_input_tokens":0,"output_tokens":%d,"service_tier":"standard"}}`
	return format{
		answer: fmt.Appendf(nil, message, `[{"type":"text","text":"`+answerText()+`"}]`, `"end_turn"`, 280),
		open: fmt.Appendf(nil, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"+message+"}\n\n"+
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"+
			"event: ping\ndata: {\"type\":\"ping\"}\n\n", "[]", "null", 1),
		chunkHead: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"",
		chunkTail: "\"}}\n\n",
		end: []byte("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":280}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
		refused:       []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_mock"}`),
		refusedStatus: 529,
	}
}

func openai() format {
	const chunk = "data: {\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"" + modelMark +
		"\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n"
	head, tail, _ := strings.Cut(fmt.Sprintf(chunk, `{"content":"%"}`, "null"), "%")
	return format{
		answer: fmt.Appendf(nil, `{"id":"chatcmpl-mock","object":"chat.completion","created":1790000000,"model":"`+modelMark+`",`+
			`"choices":[{"index":0,"message":{"role":"assistant","content":"%s","refusal":null},"logprobs":null,"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":480,"completion_tokens":280,"total_tokens":760}}`, answerText()),
		open:      fmt.Appendf(nil, chunk, `{"role":"assistant","content":""}`, "null"),
		chunkHead: head, chunkTail: tail,
		end:           append(fmt.Appendf(nil, chunk, "{}", `"stop"`), "data: [DONE]\n\n"...),
		refused:       []byte(`{"error":{"message":"Overloaded","type":"server_error","param":null,"code":"server_is_overloaded"}}`),
		refusedStatus: http.StatusServiceUnavailable,
	}
}

// appendChunk appends chunk i of a stream.
func (f *format) appendChunk(b []byte, i int, model []byte) []byte {
	head, rest, marked := strings.Cut(f.chunkHead, modelMark)
	b = append(b, head...)
	if marked {
		b = append(append(b, model...), rest...)
	}
	b = append(b, ChunkMark...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, " of an answer"...)
	return append(b, f.chunkTail...)
}
