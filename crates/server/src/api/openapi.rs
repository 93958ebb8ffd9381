//! Writes the OpenAPI document from the endpoints: addresses and permissions from the table of routes, bodies from their
//! types, refusals from the catalogue of errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use utoipa::openapi::path::ParameterIn;
use utoipa::{IntoParams, ToSchema};
use wire::audit::REASON_MAX;
use wire::routes::{Method, PREFIX, Permission, Route};
use wire::{Code, Problem};

use super::endpoint;

/// The whole document, as it is committed and served. Made once: it is a lot of work, and anybody may ask for it.
pub fn openapi_json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = serde_json::to_string_pretty(&document()).expect("the document is plain data");
        text.push('\n');
        text
    });
    &TEXT
}

/// One operation, filled in by its endpoint.
pub(super) struct Sheet {
    route: Route,
    summary: &'static str,
    parameters: Vec<Value>,
    body: Option<Value>,
    success: (u16, Value),
    codes: Vec<Code>,
    schemas: BTreeMap<String, Value>,
}

impl Sheet {
    pub(super) fn new(route: Route) -> Sheet {
        let mut codes = vec![Code::Internal, Code::TookTooLong, Code::NotReady];
        if route.permission != Permission::Public {
            codes.extend([Code::NotSignedIn, Code::NotPermitted]);
        }
        if route.method != Method::Get {
            codes.extend([Code::StoreBusy, Code::KeyReused, Code::BadQuery, Code::AuditStuck, Code::BadReason]);
        }
        let places = route.path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
        let parameters: Vec<Value> = places.map(place).collect();
        if !parameters.is_empty() {
            codes.push(Code::BadQuery);
        }
        let mut sheet = Sheet {
            route,
            summary: "",
            parameters,
            body: None,
            success: (200, json!({"description": "Done"})),
            codes,
            schemas: BTreeMap::new(),
        };
        if route.method != Method::Get {
            sheet.parameters.push(reason());
        }
        if route.method == Method::Post {
            sheet.parameters.push(header(
                "Idempotency-Key",
                "The same request sent again under this key is done once",
                255,
            ));
        }
        sheet
    }

    pub(super) fn says(mut self, summary: &'static str) -> Sheet {
        self.summary = summary;
        self
    }

    pub(super) fn query<Q: IntoParams>(mut self) -> Sheet {
        let parameters = Q::into_params(|| Some(ParameterIn::Query));
        self.parameters.extend(parameters.iter().map(|one| serde_json::to_value(one).expect("plain data")));
        self.may(&[Code::BadQuery])
    }

    pub(super) fn last_event_id(mut self) -> Sheet {
        self.parameters.push(header("Last-Event-ID", "Go on after the event of this number", 64));
        self.may(&[Code::BadQuery])
    }

    pub(super) fn body<T: ToSchema>(self) -> Sheet {
        self.takes::<T>(true)
    }

    pub(super) fn optional_body<T: ToSchema>(self) -> Sheet {
        self.takes::<T>(false)
    }

    fn takes<T: ToSchema>(mut self, required: bool) -> Sheet {
        let schema = self.reference::<T>();
        self.body = Some(json!({"required": required, "content": {"application/json": {"schema": schema}}}));
        self.may(&[Code::BadBody, Code::WrongBody, Code::TooLarge, Code::WrongMediaType])
    }

    pub(super) fn json<T: ToSchema>(mut self) -> Sheet {
        let schema = self.reference::<T>();
        self.answers(200, json!({"application/json": {"schema": schema}}))
    }

    pub(super) fn created<T: ToSchema>(mut self) -> Sheet {
        let schema = self.reference::<T>();
        self.answers(201, json!({"application/json": {"schema": schema}}))
    }

    pub(super) fn page<T: ToSchema>(mut self) -> Sheet {
        let item = self.reference::<T>();
        let next = json!({"type": ["string", "null"], "description": "Pass it as `cursor` for the following page; null at the end"});
        let properties = json!({"items": {"type": "array", "items": item}, "next": next});
        let page = json!({"type": "object", "required": ["items", "next"], "properties": properties});
        self.answers(200, json!({"application/json": {"schema": page}}))
    }

    pub(super) fn yaml<T: ToSchema>(mut self) -> Sheet {
        let schema = self.reference::<T>();
        self.answers(200, json!({"application/yaml": {"schema": schema}}))
    }

    pub(super) fn any_json(self) -> Sheet {
        self.answers(200, json!({"application/json": {"schema": {"type": "object"}}}))
    }

    pub(super) fn file(self, media: &str) -> Sheet {
        self.answers(200, json!({media: {"schema": {"type": "string", "format": "binary"}}}))
    }

    pub(super) fn stream(self) -> Sheet {
        self.answers(200, json!({"text/event-stream": {"schema": event()}}))
    }

    pub(super) fn log(self) -> Sheet {
        let bytes = json!({"schema": {"type": "string", "format": "binary"}});
        self.answers(200, json!({"text/plain": bytes, "text/event-stream": {"schema": event()}}))
    }

    pub(super) fn nothing(mut self) -> Sheet {
        self.success = (204, json!({"description": "Done"}));
        self
    }

    /// Refusals beyond those every such operation has.
    pub(super) fn may(mut self, codes: &[Code]) -> Sheet {
        self.codes.extend(codes);
        self
    }

    /// A schema that is described although it appears only inside text.
    pub(super) fn uses<T: ToSchema>(mut self) -> Sheet {
        self.reference::<T>();
        self
    }

    fn answers(mut self, status: u16, content: Value) -> Sheet {
        self.success = (status, json!({"description": "Done", "content": content}));
        self
    }

    fn reference<T: ToSchema>(&mut self) -> Value {
        let mut found = Vec::new();
        T::schemas(&mut found);
        found.push((T::name().into_owned(), T::schema()));
        for (name, schema) in found {
            self.schemas.insert(name, serde_json::to_value(schema).expect("a schema is plain data"));
        }
        json!({"$ref": format!("#/components/schemas/{}", T::name())})
    }

    fn operation(&self) -> Value {
        let mut responses = Map::new();
        responses.insert(self.success.0.to_string(), self.success.1.clone());
        for (status, codes) in self.refusals() {
            responses.insert(status.to_string(), refusal(&codes));
        }
        let mut operation = json!({
            "operationId": self.route.operation,
            "tags": [tag(self.route)],
            "summary": self.summary,
            "responses": responses,
            "x-permission": self.route.permission.to_string(),
        });
        if !self.parameters.is_empty() {
            operation["parameters"] = self.parameters.clone().into();
        }
        if let Some(body) = &self.body {
            operation["requestBody"] = body.clone();
        }
        let open = self.route.permission == Permission::Public;
        operation["security"] = if open { json!([]) } else { json!([{"token": []}, {"session": []}]) };
        operation
    }

    fn refusals(&self) -> BTreeMap<u16, BTreeSet<&'static str>> {
        let mut by_status: BTreeMap<u16, BTreeSet<&'static str>> = BTreeMap::new();
        for code in &self.codes {
            by_status.entry(code.entry().status).or_default().insert(code.as_str());
        }
        by_status
    }
}

fn refusal(codes: &BTreeSet<&'static str>) -> Value {
    let told: Vec<String> = codes
        .iter()
        .filter_map(|code| Code::coded(code))
        .map(|code| format!("{code}: {}", code.entry().title))
        .collect();
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json!({"description": told.join("; "), "content": {Problem::MEDIA_TYPE: {"schema": schema}}})
}

fn place(name: &str) -> Value {
    let schema = match name {
        "id" => json!({"type": "integer", "format": "int64"}),
        _ => json!({"type": "string", "minLength": 1, "maxLength": 128}),
    };
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

fn header(name: &str, description: &str, most: u32) -> Value {
    let schema = json!({"type": "string", "minLength": 1, "maxLength": most, "pattern": "^[!-~]+$"});
    json!({"name": name, "in": "header", "required": false, "description": description, "schema": schema})
}

fn reason() -> Value {
    let schema = json!({"type": "string", "maxLength": REASON_MAX, "pattern": "^[ -~]*$"});
    let description = "Why it is changed; kept in the audit. What is not ASCII is escaped as UTF-8''%E6%9C%88";
    json!({"name": "Duly-Reason", "in": "header", "required": false, "description": description, "schema": schema})
}

/// The first word of the address: what it is about.
fn tag(route: Route) -> &'static str {
    route.path.trim_start_matches('/').split('/').next().unwrap_or_default().trim_end_matches(".json")
}

fn document() -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    for sheet in endpoint::sheets().into_iter().map(|sheet| sheet.uses::<Problem>()) {
        let method = match sheet.route.method {
            Method::Get => "get",
            Method::Post => "post",
            Method::Put => "put",
            Method::Delete => "delete",
        };
        let path = format!("{PREFIX}{}", sheet.route.path);
        paths.entry(path).or_default().insert(method.into(), sheet.operation());
        schemas.extend(sheet.schemas);
    }
    let token = json!({"type": "http", "scheme": "bearer", "description": "An API token, or the token of a session"});
    let session = json!({"type": "apiKey", "in": "cookie", "name": super::cookie::SESSION});
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Duly",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs jobs when they are due: exactly one instance per planned time. Times are RFC 3339 in UTC with \
                microseconds, durations are written like 90s or 20m. Refusals are problem documents (RFC 9457) with a code \
                that docs/errors explains.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": token, "session": session}},
    })
}

/// One of the events of a stream; its data is JSON.
fn event() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "properties": {"id": text, "event": text, "data": text}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let described: BTreeSet<&str> = endpoint::sheets().iter().map(|sheet| sheet.route.operation).collect();
        let routes: BTreeSet<&str> = wire::routes::ALL.iter().map(|route| route.operation).collect();
        assert_eq!(described, routes);
        assert!(endpoint::sheets().iter().all(|sheet| !sheet.summary.is_empty()));
    }

    #[test]
    fn references_lead_somewhere() {
        let document = document();
        let text = document.to_string();
        for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_committed_document_is_current() {
        // UPDATE_EXPECT=1 writes it anew.
        expect_test::expect_file!["../../../../openapi/openapi.json"].assert_eq(openapi_json());
    }
}
