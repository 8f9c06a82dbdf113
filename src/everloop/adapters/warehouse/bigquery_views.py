"""Readable views over the copy in BigQuery: messages, summaries, memories, lessons, cost.

`facts` leaves out what was retracted, and what was derived from that; the others are made of it.
They show every branch. The same views for DuckDB are in `docs/warehouse.md`.
"""

from typing import LiteralString

MARK = "A readable view of an Everloop log."  # a view with this description is ours to change

_FACTS: LiteralString = """
WITH RECURSIVE
retraction AS (
  SELECT l.position AS by_position, CAST(hit AS INT64) AS position
  FROM `{log}` AS l, UNNEST(JSON_VALUE_ARRAY(l.data, '$.positions')) AS hit
  WHERE l.kind = 'log.retracted'
),
edge AS (
  SELECT l.position, source FROM `{log}` AS l, UNNEST(l.because) AS source
),
gone AS (
  SELECT position FROM retraction WHERE by_position NOT IN (SELECT position FROM retraction)
  UNION ALL
  SELECT edge.position FROM gone JOIN edge ON edge.source = gone.position
)
SELECT * FROM `{log}` WHERE data IS NOT NULL AND position NOT IN (SELECT position FROM gone)
"""

_MESSAGES: LiteralString = """
SELECT position, recorded_at, JSON_VALUE(data, '$.thread_id') AS thread,
  IF(kind = 'thread.answer_given', JSON_VALUE(data, '$.model'), actor) AS who,
  JSON_VALUE(data, '$.text') AS text
FROM `{facts}`
WHERE kind IN ('thread.message_sent', 'thread.message_imported', 'thread.answer_given')
"""

_MEMORIES: LiteralString = """
WITH newest AS (
  SELECT stream, data FROM `{facts}` WHERE kind IN ('memory.remembered', 'memory.revised')
  QUALIFY ROW_NUMBER() OVER (PARTITION BY stream ORDER BY position DESC) = 1
)
SELECT f.position, f.recorded_at, JSON_VALUE(f.data, '$.item_id') AS item,
  JSON_VALUE(f.data, '$.kind') AS kind, JSON_VALUE(newest.data, '$.title') AS title,
  JSON_VALUE(newest.data, '$.text') AS text
FROM `{facts}` AS f JOIN newest ON newest.stream = f.stream
WHERE f.kind = 'memory.remembered'
  AND f.stream NOT IN (SELECT stream FROM `{facts}` WHERE kind = 'memory.retired')
"""

_SUMMARIES: LiteralString = "SELECT * FROM `{memories}` WHERE kind = 'summary'"

_LESSONS: LiteralString = """
WITH newest AS (
  SELECT stream, data FROM `{facts}`
  WHERE kind IN ('lessons.lesson_proposed', 'lessons.lesson_edited')
  QUALIFY ROW_NUMBER() OVER (PARTITION BY stream ORDER BY position DESC) = 1
),
state AS (
  SELECT stream, kind FROM `{facts}`
  WHERE kind IN ('lessons.lesson_proposed', 'lessons.lesson_promoted', 'lessons.lesson_seeded',
    'lessons.lesson_demoted', 'lessons.lesson_discarded', 'lessons.lesson_superseded')
  QUALIFY ROW_NUMBER() OVER (PARTITION BY stream ORDER BY position DESC) = 1
)
SELECT f.position, f.recorded_at, JSON_VALUE(f.data, '$.lesson_id') AS lesson,
  JSON_VALUE(newest.data, '$.description') AS description,
  state.kind IN ('lessons.lesson_promoted', 'lessons.lesson_seeded') AS promoted
FROM `{facts}` AS f
JOIN newest ON newest.stream = f.stream
JOIN state ON state.stream = f.stream
WHERE f.kind = 'lessons.lesson_proposed'
  AND state.kind NOT IN ('lessons.lesson_discarded', 'lessons.lesson_superseded')
"""

_COST: LiteralString = """
SELECT position, recorded_at, JSON_VALUE(data, '$.model') AS model,
  JSON_VALUE(data, '$.purpose') AS purpose,
  CAST(JSON_VALUE(data, '$.tokens_in') AS INT64) AS tokens_in,
  CAST(JSON_VALUE(data, '$.tokens_out') AS INT64) AS tokens_out,
  GREATEST(CAST(JSON_VALUE(data, '$.cost_usd') AS FLOAT64), 0) AS cost_usd
FROM `{facts}` WHERE kind = 'thread.model_called'
"""

_VIEWS = {  # in an order in which each is made of those before it
    "facts": _FACTS,
    "messages": _MESSAGES,
    "memories": _MEMORIES,
    "summaries": _SUMMARIES,
    "lessons": _LESSONS,
    "cost": _COST,
}


def view_statements(dataset: str, table: str) -> dict[str, str]:
    """The SQL of every view over a table, by its name in the dataset.

    Views of the table `log` have plain names; those of another one begin with its name.
    """
    before = "" if table == "log" else f"{table}_"
    places = {view: f"{dataset}.{before}{view}" for view in _VIEWS}
    return {
        f"{before}{view}": text.format(log=f"{dataset}.{table}", **places).strip()
        for view, text in _VIEWS.items()
    }
