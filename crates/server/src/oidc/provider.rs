//! Talks to the identity provider. Finds it when it is first needed and keeps what it said; asks again when it signs with
//! a key nobody has seen. Follows no redirects and reads no more than it must.

use std::sync::Arc;
use std::time::{Duration, Instant};

use openidconnect::core::*;
use openidconnect::{
    AdditionalClaims, AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret,
    CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    IdTokenFields, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    SignatureVerificationError, StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Identity, OidcConfig};

/// One call.
const WITHIN: Duration = Duration::from_secs(10);
const ANSWER_MAX: usize = 1 << 20;
/// What the provider said of itself is asked for again after this long.
const KEPT_FOR: Duration = Duration::from_secs(3_600);
/// An unknown key makes us ask at most so often.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Asymmetric ones only: with the others whoever can check a signature can make one.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    /// Ours to mend.
    #[error("{0}")]
    Misconfigured(String),
    /// It did not answer, or not as a provider does.
    #[error("{0}")]
    Unreachable(String),
    /// What it sent was not accepted.
    #[error("{0}")]
    Refused(String),
}

/// Somebody is on their way to the provider.
pub(crate) struct Sent {
    pub url: String,
    pub state: String,
    pub nonce: String,
    pub verifier: String,
}

pub(crate) struct Provider {
    pub(crate) config: OidcConfig,
    /// Where the provider sends people back to.
    redirect: RedirectUrl,
    http: reqwest::Client,
    found: Mutex<Option<Found>>,
}

#[derive(Clone)]
struct Found {
    metadata: Arc<CoreProviderMetadata>,
    at: Instant,
}

/// Claims beside the standard ones, as they came.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct More {
    #[serde(flatten)]
    claims: serde_json::Map<String, serde_json::Value>,
}

impl AdditionalClaims for More {}

type Tokens = StandardTokenResponse<
    IdTokenFields<
        More,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

type Client = openidconnect::Client<
    More,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Provider {
    pub(crate) fn new(config: OidcConfig, public_url: Option<&str>) -> Result<Provider, String> {
        let ours = public_url.ok_or("public_url must say how browsers reach this server")?;
        let redirect = RedirectUrl::new(format!("{}/auth/oidc/callback", ours.trim_end_matches('/')))
            .map_err(|error| format!("public_url {ours} is no address: {error}"))?;
        let issuer = IssuerUrl::new(config.issuer.clone())
            .map_err(|error| format!("oidc.issuer {} is no address: {error}", config.issuer))?;
        let local = matches!(issuer.url().host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if issuer.url().scheme() != "https" && !local {
            return Err(format!("oidc.issuer {} must begin with https://", config.issuer));
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(WITHIN)
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Provider { config, redirect, http, found: Mutex::default() })
    }

    /// Where to send somebody, and what to expect when they come back.
    pub(crate) async fn send(&self) -> Result<Sent, ProviderError> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let scopes = self.config.scopes.iter().filter(|scope| *scope != "openid").cloned().map(Scope::new);
        let request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let (url, state, nonce) = request.add_scopes(scopes).set_pkce_challenge(challenge).url();
        Ok(Sent {
            url: url.into(),
            state: state.into_secret(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
        })
    }

    /// Trades the code somebody came back with for who they are.
    pub(crate) async fn receive(
        &self,
        code: String,
        verifier: String,
        nonce: String,
    ) -> Result<Identity, ProviderError> {
        let metadata = self.metadata().await?;
        let client = self.client(&metadata)?;
        let http = |request| answer(self.http.clone(), request);
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| ProviderError::Unreachable("the provider names no token endpoint".into()))?;
        let exchange = exchange.set_pkce_verifier(PkceCodeVerifier::new(verifier));
        let tokens = exchange.request_async(&http).await.map_err(|error| match error {
            openidconnect::RequestTokenError::ServerResponse(said) => {
                ProviderError::Refused(format!("the provider did not take the code: {said}"))
            }
            other => ProviderError::Unreachable(format!("the code could not be traded: {}", words(&other))),
        })?;
        let nonce = Nonce::new(nonce);
        let first = self.identify(&client, &tokens, &nonce);
        let Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) = first
        else {
            return first.map_err(not_accepted)?;
        };
        // Providers change their keys.
        let metadata = self.ask_again().await?;
        let client = self.client(&metadata)?;
        self.identify(&client, &tokens, &nonce).map_err(not_accepted)?
    }

    /// Who an ID token is about, if everything about it is as it must be.
    fn identify(
        &self,
        client: &Client,
        tokens: &Tokens,
        nonce: &Nonce,
    ) -> Result<Result<Identity, ProviderError>, ClaimsVerificationError> {
        let Some(token) = tokens.id_token() else {
            return Ok(Err(ProviderError::Refused("the provider sent no ID token".into())));
        };
        let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
        let claims = token.claims(&verifier, nonce)?;
        let more = &claims.additional_claims().claims;
        let standard = || match self.config.name_claim.as_str() {
            "preferred_username" => claims.preferred_username().map(|name| name.to_string()),
            "email" => claims.email().filter(|_| claims.email_verified() == Some(true)).map(|email| email.to_string()),
            "sub" => Some(claims.subject().to_string()),
            _ => None,
        };
        let named = more.get(&self.config.name_claim).and_then(|value| value.as_str()).map(str::to_owned);
        let Some(name) = standard().or(named) else {
            let told = format!("the ID token has no claim {} to name an account by", self.config.name_claim);
            return Ok(Err(ProviderError::Refused(told)));
        };
        let groups = match more.get(&self.config.groups_claim) {
            Some(serde_json::Value::Array(groups)) => {
                groups.iter().filter_map(|group| group.as_str()).map(str::to_owned).collect()
            }
            Some(serde_json::Value::String(group)) => vec![group.clone()],
            _ => Vec::new(),
        };
        let subject = format!("{} {}", self.config.issuer, claims.subject().as_str());
        Ok(Ok(Identity { subject, name, groups }))
    }

    fn client(&self, metadata: &CoreProviderMetadata) -> Result<Client, ProviderError> {
        let secret = match &self.config.client_secret_file {
            None => None,
            Some(file) => {
                let told = |error| format!("oidc.client_secret_file {} cannot be read: {error}", file.display());
                let text = std::fs::read_to_string(file).map_err(told).map_err(ProviderError::Misconfigured)?;
                Some(ClientSecret::new(text.trim().to_owned()))
            }
        };
        let id = ClientId::new(self.config.client_id.clone());
        let client = openidconnect::Client::from_provider_metadata(metadata.clone(), id, secret);
        Ok(client.set_redirect_uri(self.redirect.clone()))
    }

    async fn metadata(&self) -> Result<Arc<CoreProviderMetadata>, ProviderError> {
        let found = self.found.lock().clone();
        match found {
            Some(found) if found.at.elapsed() < KEPT_FOR => Ok(found.metadata),
            _ => self.ask().await,
        }
    }

    async fn ask_again(&self) -> Result<Arc<CoreProviderMetadata>, ProviderError> {
        let found = self.found.lock().clone();
        match found {
            // A flood of tokens with made-up keys is no flood of ours.
            Some(found) if found.at.elapsed() < ASK_AGAIN_AFTER => Ok(found.metadata),
            _ => self.ask().await,
        }
    }

    async fn ask(&self) -> Result<Arc<CoreProviderMetadata>, ProviderError> {
        let issuer = IssuerUrl::new(self.config.issuer.clone()).expect("looked at when it was configured");
        let http = |request| answer(self.http.clone(), request);
        let metadata = CoreProviderMetadata::discover_async(issuer, &http).await.map_err(|error| {
            ProviderError::Unreachable(format!(
                "{} does not answer as a provider: {}",
                self.config.issuer,
                words(&error)
            ))
        })?;
        let metadata = Arc::new(metadata);
        *self.found.lock() = Some(Found { metadata: Arc::clone(&metadata), at: Instant::now() });
        Ok(metadata)
    }
}

fn not_accepted(error: ClaimsVerificationError) -> ProviderError {
    ProviderError::Refused(format!("the ID token was not accepted: {}", words(&error)))
}

#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("the call failed")]
    Http(#[from] reqwest::Error),
    #[error("the answer is longer than {ANSWER_MAX} bytes")]
    Long,
    #[error("the answer cannot be read: {0}")]
    Strange(String),
}

/// One call of the provider, by our own HTTP client.
async fn answer(http: reqwest::Client, request: HttpRequest) -> Result<HttpResponse, CallError> {
    let (parts, body) = request.into_parts();
    let sent = http.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body).send().await?;
    let mut answer = axum::http::Response::builder().status(sent.status());
    for (name, value) in sent.headers() {
        answer = answer.header(name, value);
    }
    let (mut sent, mut body) = (sent, Vec::new());
    while let Some(chunk) = sent.chunk().await? {
        if body.len() + chunk.len() > ANSWER_MAX {
            return Err(CallError::Long);
        }
        body.extend_from_slice(&chunk);
    }
    answer.body(body).map_err(|error| CallError::Strange(error.to_string()))
}

/// An error with what caused it, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        told.push_str(": ");
        told.push_str(&next.to_string());
        cause = next.source();
    }
    told.chars().take(400).collect()
}
