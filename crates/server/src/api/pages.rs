//! The few pages a browser may meet until the console is there, and what a metrics scraper reads.

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

use super::{guard, record};
use crate::ops::{Desk, Refused};

const STYLE: &str = "body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}\
code,pre{background:#8881;padding:.1em .3em;border-radius:4px}pre{padding:1em;overflow:auto}\
label{display:block;margin:.8rem 0}input{font:inherit;width:100%;padding:.4em}button{font:inherit;padding:.4em 1.2em}";

pub(super) async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

pub(super) async fn setup_script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("setup.js")).into_response()
}

pub(super) async fn root(State(desk): State<Desk>) -> Response {
    let next = if desk.setup.is_done() {
        "<p>Use the command line (<code>duly --help</code>) with <code>DULY_URL</code> and <code>DULY_TOKEN</code>, or the \
         API below <code>/api/v1</code>.</p>"
    } else {
        "<p>Nobody has set this server up yet: open the set-up link it printed at its start, or stop it and run \
         <code>duly setup</code>.</p>"
    };
    let links = "<p><a href=\"/api/v1/openapi.json\">API description</a> · <a href=\"/api/v1/health\">health</a> · \
                 <a href=\"/ui\">console</a></p>";
    page(&format!("<h1>Duly {}</h1>{next}{links}", env!("CARGO_PKG_VERSION")))
}

pub(super) async fn console() -> Response {
    page(
        "<h1>Duly</h1><p>The web console comes with a later release. Until then the command line does everything:</p>\
         <pre>export DULY_URL=http://127.0.0.1:7070 DULY_TOKEN=…\n\
         duly job list\nduly instance list\nduly log -f INSTANCE\nduly why INSTANCE</pre>\
         <p>Programs use the API: its <a href=\"/api/v1/openapi.json\">description</a> lists every operation, and \
         <code>GET /api/v1/events</code> pushes what happens.</p>",
    )
}

pub(super) async fn setup(State(desk): State<Desk>) -> Response {
    if desk.setup.is_done() {
        return page("<h1>Duly</h1><p>This server is set up already.</p><p><a href=\"/\">Start page</a></p>");
    }
    page(concat!(
        "<h1>Set up Duly</h1><p>Choose the name and password of the first administrator.</p>",
        "<form id=f><label>Name<input name=admin value=admin required maxlength=64 autocomplete=username></label>",
        "<label>Password (at least 10 characters)<input name=password type=password required minlength=10 ",
        "autocomplete=new-password></label><button>Set up</button></form><div id=told></div>",
        "<script src=\"/ui/setup.js\"></script>"
    ))
}

pub(super) async fn metrics(State(desk): State<Desk>, request: Request) -> Result<Response, Refused> {
    let parts = request.into_parts().0;
    if let Err(refused) = guard::may_measure(&parts, &desk).await {
        record::refused_look(&desk, "metrics", &parts.headers, &refused);
        return Err(refused);
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, crate::metrics::render(&desk)).into_response())
}

/// Nothing inline: what an answer may contain is said once for all of them, in `armour`.
fn page(body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <link rel=stylesheet href=\"/ui/duly.css\"><title>Duly</title>{body}"
    );
    Html(html).into_response()
}
