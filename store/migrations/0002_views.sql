-- Views for people: newest first, one line each, nothing to join.
-- They need SQLite 3.38 or newer.
CREATE VIEW v_decisions AS
SELECT
  e.id,
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.caller_key' AS caller_key,
  e.body ->> '$.tenant' AS tenant,
  e.body ->> '$.facts.audience' AS audience,
  e.body ->> '$.facts.use_case' AS use_case,
  e.body ->> '$.facts.model' AS asked,
  e.body ->> '$.wire' AS wire,
  coalesce(e.body ->> '$.facts.stream', 0) AS stream,
  coalesce(e.body ->> '$.facts.priority', 0) AS priority,
  e.body ->> '$.facts.input_tokens' AS input_tokens,
  (SELECT group_concat(line, '; ') FROM (
     SELECT (x.value ->> '$.target') || ': ' || (
       SELECT group_concat(replace(r.value, '_', ' '), ', ') FROM json_each(x.value, '$.reasons') AS r) AS line
     FROM documents AS d, json_each(d.body, '$.excluded') AS x
     WHERE d.digest = e.body ->> '$.plan')) AS excluded,
  (SELECT group_concat(line, '; ') FROM (
     SELECT (x.value ->> '$.target') || ': ' || replace(x.value ->> '$.kind', '_', ' ')
         || coalesce(' (' || (x.value ->> '$.detail') || ')', '') AS line
     FROM json_each(e.body, '$.skips') AS x)) AS skipped,
  (SELECT group_concat(line, ' -> ') FROM (
     SELECT (x.value ->> '$.target') || ' '
         || CASE x.value ->> '$.kind' WHEN 'none' THEN 'ok' ELSE
              (x.value ->> '$.kind') || coalesce('(' || (x.value ->> '$.status') || ')', '') END AS line
     FROM json_each(e.body, '$.attempts') AS x)) AS tried,
  e.body ->> '$.answered_by' AS answered_by,
  replace(e.body ->> '$.outcome', 'none', 'answered') AS outcome,
  e.body ->> '$.status' AS status,
  e.body ->> '$.situation' AS situation,
  (e.body ->> '$.disclosed.detail') || coalesce(': ' || (e.body ->> '$.disclosed.text'), '') AS disclosed,
  (e.body ->> '$.cost_picousd') / 1e12 AS cost_usd,
  e.body ->> '$.revision' AS revision,
  e.body ->> '$.catalog' AS config,
  e.body ->> '$.source' AS source,
  e.body ->> '$.level' AS level,
  e.body ->> '$.tier' AS tier,
  e.body ->> '$.duration_ms' AS duration_ms,
  e.body ->> '$.first_content_ms' AS first_content_ms,
  e.seq
FROM events AS e
WHERE e.kind = 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_attempts AS
SELECT
  e.id AS decision,
  strftime('%Y-%m-%d %H:%M:%f',
    (e.at_us + 1000 * (a.value ->> '$.start_ms')) / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.facts.use_case' AS use_case,
  a.value ->> '$.number' AS number,
  a.value ->> '$.step' AS step,
  a.value ->> '$.target' AS target,
  a.value ->> '$.node' AS node,
  a.value ->> '$.key' AS key,
  CASE a.value ->> '$.kind' WHEN 'none' THEN 'ok' ELSE a.value ->> '$.kind' END AS result,
  a.value ->> '$.status' AS status,
  a.value ->> '$.type' AS type,
  a.value ->> '$.code' AS code,
  a.value ->> '$.wait_ms' AS waited_ms,
  a.value ->> '$.first_content_ms' AS first_content_ms,
  a.value ->> '$.duration_ms' AS duration_ms,
  a.value ->> '$.retry_after_ms' AS retry_after_ms,
  coalesce(a.value ->> '$.probe', 0) AS probe,
  a.value ->> '$.upstream_id' AS upstream_id,
  a.value ->> '$.input_tokens' AS input_tokens,
  a.value ->> '$.cache_read_tokens' AS cache_read_tokens,
  a.value ->> '$.cache_write_tokens' AS cache_write_tokens,
  a.value ->> '$.cache_write_1h_tokens' AS cache_write_1h_tokens,
  a.value ->> '$.output_tokens' AS output_tokens,
  (a.value ->> '$.cost_picousd') / 1e12 AS cost_usd,
  a.value ->> '$.price_as_of' AS price_as_of,
  e.seq
FROM events AS e, json_each(e.body, '$.attempts') AS a
WHERE e.kind = 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_circuit_history AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.target' AS target,
  e.body ->> '$.use_case' AS use_case,
  e.body ->> '$.from' AS from_state,
  e.body ->> '$.to' AS to_state,
  e.body ->> '$.effective' AS effective,
  e.body ->> '$.cause' AS cause,
  e.body ->> '$.failures' AS failures,
  e.body ->> '$.calls' AS calls,
  strftime('%Y-%m-%d %H:%M:%f', (e.body ->> '$.until_us') / 1000000.0, 'unixepoch') AS until_utc,
  e.body ->> '$.opens' AS opens,
  e.body ->> '$.revision' AS revision,
  e.seq
FROM events AS e
WHERE e.kind = 'transition' AND e.kind <> 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_budget_history AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.target' AS target,
  e.body ->> '$.use_case' AS use_case,
  e.body ->> '$.tokens' AS tokens,
  e.body ->> '$.capacity' AS capacity,
  e.body ->> '$.zero_seconds' AS zero_seconds,
  e.seq
FROM events AS e
WHERE e.kind = 'budget' AND e.kind <> 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_policy_history AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.action' AS action,
  e.body ->> '$.number' AS number,
  e.body ->> '$.revision' AS revision,
  e.body ->> '$.previous' AS previous,
  e.body ->> '$.by' AS by,
  e.body ->> '$.reason' AS reason,
  e.seq
FROM events AS e
WHERE e.kind = 'policy' AND e.kind <> 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_gaps AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.body ->> '$.cause' AS cause,
  e.body ->> '$.missing' AS missing,
  e.body ->> '$.exact' AS exact,
  strftime('%Y-%m-%d %H:%M:%f', (e.body ->> '$.from_us') / 1000000.0, 'unixepoch') AS from_utc,
  strftime('%Y-%m-%d %H:%M:%f', (e.body ->> '$.to_us') / 1000000.0, 'unixepoch') AS to_utc,
  e.body ->> '$.run' AS run,
  e.seq
FROM events AS e
WHERE e.kind = 'gap' AND e.kind <> 'decision'
ORDER BY e.seq DESC;

CREATE VIEW v_events AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  e.kind,
  e.id AS subject,
  e.body,
  e.seq
FROM events AS e
WHERE e.kind <> 'decision'
ORDER BY e.seq DESC;
