// Asks a running server with both official JavaScript clients, plain, streamed
// and with their stream helpers, and prints what came back as one JSON object.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const base = process.argv[2];
const apiKey = process.env.SPILLWAY_KEY;
const anthropic = new Anthropic({ baseURL: base, apiKey });
const openai = new OpenAI({ baseURL: base + "/v1", apiKey });

const ask = {
  model: "claude-opus-5-5",
  max_tokens: 64,
  messages: [{ role: "user", content: "hello" }],
};
const chat = { model: "gpt-6-sol", messages: [{ role: "user", content: "hello" }] };

const cases = {
  "anthropic plain": async () => message(await anthropic.messages.create(ask)),
  "anthropic streamed": async () => {
    let text = "", model = "", end = "";
    for await (const ev of await anthropic.messages.create({ ...ask, stream: true })) {
      if (ev.type === "message_start") model = ev.message.model;
      if (ev.type === "content_block_delta") text += ev.delta.text;
      if (ev.type === "message_delta") end = ev.delta.stop_reason;
    }
    return { text, model, end };
  },
  "anthropic helper": async () => message(await anthropic.messages.stream(ask).finalMessage()),
  "openai plain": async () => completion(await openai.chat.completions.create(chat)),
  "openai streamed": async () => {
    let text = "", model = "", end = "";
    for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true })) {
      model = chunk.model;
      text += chunk.choices[0]?.delta?.content ?? "";
      end = chunk.choices[0]?.finish_reason ?? end;
    }
    return { text, model, end };
  },
  "openai helper": async () => completion(await openai.chat.completions.stream(chat).finalChatCompletion()),
};

const message = (m) => ({ text: m.content[0].text, model: m.model, end: m.stop_reason });
const completion = (c) => ({
  text: c.choices[0].message.content,
  model: c.model,
  end: c.choices[0].finish_reason,
});

const out = {};
for (const [name, run] of Object.entries(cases)) {
  try {
    out[name] = await run();
  } catch (err) {
    out[name] = { error: String(err) };
  }
}
console.log(JSON.stringify(out));
