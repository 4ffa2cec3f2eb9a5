"""A benchmark as one page that needs nothing else: no network, no script, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from localspec.bench.document import Document
from localspec.bench.html.charts import (
    Chart,
    acceptance_by_position,
    speed_over_time,
    speed_up_by_kind,
    speeds_in_rows,
)
from localspec.bench.html.cost_charts import best_length, cost_against_width, distance_to_bound
from localspec.bench.html.svg import legend_mark
from localspec.bench.report import Report
from localspec.bench.tables import report_lines

_HEAD = (
    "arm",
    "tokens/s (quartiles)",
    "first token, s",
    "speed-up (95 % interval)",
    "kept",
    "tokens a pass",
    "target",
    "draft",
    "other",
    "J/token",
)


def page_of(document: Document, report: Report) -> str:
    """The page, as HTML. Whatever comes from files or models is escaped."""
    charts = (
        speed_up_by_kind(report),
        acceptance_by_position(report),
        speed_over_time(document, report),
        best_length(document, report),
        cost_against_width(document),
        distance_to_bound(document, report),
    )
    overall = [figures for arm in report.arms if (figures := report.overall(arm))]
    title = "localspec bench: " + ", ".join(document.models)
    style = (files("localspec.bench.html") / "style.css").read_text("utf-8")
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Nothing may be fetched, whatever a model's name looks like.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="soft">Made {escape(document.made)}{"" if document.complete else "; NOT COMPLETE"}</p>',
            "<h2>All kinds together</h2>",
            _table(_HEAD, speeds_in_rows(overall)),
            *map(_figure, charts),
            "<h2>In words</h2>",
            f"<pre>{escape(chr(10).join(report_lines(document, report)))}</pre>",
            "<h2>Environment</h2>",
            _definitions(_environment(document)),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _figure(chart: Chart) -> str:
    parts = [f"<h2>{escape(chart.title)}</h2>", "<figure>", f"<figcaption><p>{escape(chart.words)}</p></figcaption>"]
    if chart.legend:
        items = (f"<li>{legend_mark(series)}{escape(name)}</li>" for name, series in chart.legend)
        parts.append(f'<ul class="legend">{"".join(items)}</ul>')
    if chart.svg:
        parts.append(f'<div class="picture">{chart.svg}</div>')
    if chart.rows:
        table = _table(chart.head, chart.rows)
        parts.append(f"<details><summary>The same as a table</summary>{table}</details>")
    return "\n".join([*parts, "</figure>"])


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="tables"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs)}</dl>"


def _environment(document: Document) -> Iterator[tuple[str, str]]:
    environment = document.environment
    machine = environment["machine"]
    yield "processor", f"{machine['processor']}, {machine['physical_cores']} cores, {machine['system']}"
    yield "memory", f"{machine['memory_bytes'] / 1e9:.1f} GB"
    for device in environment["devices"]:
        yield "device", f"{device['name']}: {device['description']}"
    yield "localspec", f"{environment['localspec']}, Python {environment['python']}"
    if built := environment["llama_cpp"]:
        yield "llama.cpp", f"{built['version']}, llama-cpp-python {built['bindings']}"
        for backend, features in built["features"].items():
            yield f"built for {backend}", ", ".join(f"{name}={value}" for name, value in features.items())
    for pair, models in document.models.items():
        for which in ("target", "draft"):
            if model := models[which]:
                digest = f", sha256 {model['sha256']}" if model["sha256"] else ""
                yield f"{pair}, {which}", f"{model['file']} ({model['description']}) on {model['device']}{digest}"
        yield (
            f"{pair}, run with",
            ", ".join(
                f"{name.replace('_', ' ')} {models[name]}"
                for name in ("context", "threads", "kv_type", "flash_attention")
            ),
        )
    for arm, settings in document.plan["arms"].items():
        chosen = {**settings["speculation"], **settings["sampling"]}
        yield f"arm {arm}", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in chosen.items())
