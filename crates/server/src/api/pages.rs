//! The few pages a browser meets where the console was not built in, and what a metrics scraper reads.

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{Html, IntoResponse, Redirect, Response};

use super::{console, guard, record};
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
    if console::is_there() {
        return Redirect::to("/ui").into_response();
    }
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

/// Set-up works without the console, too; everything else says how to get it.
pub(super) fn without_console(desk: &Desk, is_setup: bool) -> Response {
    match (is_setup, desk.setup.is_done()) {
        (true, true) => page("<h1>Duly</h1><p>This server is set up already.</p><p><a href=\"/\">Start page</a></p>"),
        (true, false) => page(SETUP),
        (false, _) => page(NO_CONSOLE),
    }
}

const NO_CONSOLE: &str = "<h1>Duly</h1><p>This program was built without the web console. To have it, run \
     <code>make console</code> in the checkout (it needs Node 20 or newer), build again and restart; <code>make run</code> \
     does all of it. The command line does everything, too:</p>\
     <pre>export DULY_URL=http://127.0.0.1:7070 DULY_TOKEN=…\n\
     duly job list\nduly instance list\nduly log -f INSTANCE\nduly why INSTANCE</pre>\
     <p>Programs use the API: its <a href=\"/api/v1/openapi.json\">description</a> lists every operation, and \
     <code>GET /api/v1/events</code> pushes what happens.</p>";

const SETUP: &str = concat!(
    "<h1>Set up Duly</h1><p>Choose the name and password of the first administrator.</p>",
    "<form id=f><label>Name<input name=admin value=admin required maxlength=64 autocomplete=username></label>",
    "<label>Password (at least 10 characters)<input name=password type=password required minlength=10 ",
    "autocomplete=new-password></label><button>Set up</button></form><div id=told></div>",
    "<script src=\"/ui/setup.js\"></script>"
);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_console_it_is_said_how_to_have_it() {
        assert!(NO_CONSOLE.contains("make console") && NO_CONSOLE.contains("duly job list"));
        assert!(SETUP.contains("/ui/setup.js") && !SETUP.contains("<script>"));
    }
}
