-- Who held which circuits, why, until when, and how it ended. '*' is all.
CREATE VIEW v_override_history AS
SELECT
  strftime('%Y-%m-%d %H:%M:%f', e.at_us / 1000000.0, 'unixepoch') AS at_utc,
  coalesce(nullif(e.body ->> '$.target', ''), '*') AS target,
  coalesce(nullif(e.body ->> '$.use_case', ''), '*') AS use_case,
  e.body ->> '$.hold' AS hold,
  e.body ->> '$.by' AS by,
  e.body ->> '$.reason' AS reason,
  strftime('%Y-%m-%d %H:%M:%f', (e.body ->> '$.until_us') / 1000000.0, 'unixepoch') AS until_utc,
  e.seq
FROM events AS e
WHERE e.kind = 'override' AND e.kind <> 'decision'
ORDER BY e.seq DESC;
