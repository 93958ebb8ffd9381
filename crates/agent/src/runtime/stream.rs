//! A stream to the server as its user sees it: one call that answers with the next thing that happened to it.
//! Redials for ever; may be dropped and called again at any await.

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Response, Status, Streaming};
use wire::link::{Down, LogDown, LogUp, Up};

use super::backoff::Backoff;
use super::dial::{DialError, Dialer, Line};

pub(crate) enum Happened<C: Call> {
    /// Messages can be sent; the server reads them as soon as it answers.
    Opened(UnboundedSender<C::Up>),
    Came(C::Down),
    Lost(DialError),
}

/// Which of the two streams it is. What waits to be sent is bounded by its user: one report for each open attempt,
/// one window of output.
pub(crate) trait Call {
    type Up: Send + 'static;
    type Down: Send + 'static;

    fn open(line: Line, up: UnboundedReceiver<Self::Up>) -> Opening<Self::Down>;
}

pub(crate) struct Work;

impl Call for Work {
    type Up = Up;
    type Down = Down;

    fn open(mut line: Line, up: UnboundedReceiver<Up>) -> Opening<Down> {
        let request = line.request(UnboundedReceiverStream::new(up));
        Box::pin(async move { line.client.session(request).await })
    }
}

pub(crate) struct Output;

impl Call for Output {
    type Up = LogUp;
    type Down = LogDown;

    fn open(mut line: Line, up: UnboundedReceiver<LogUp>) -> Opening<LogDown> {
        let request = line.request(UnboundedReceiverStream::new(up));
        Box::pin(async move { line.client.logs(request).await })
    }
}

type Dialing = Pin<Box<dyn Future<Output = Result<Line, DialError>> + Send>>;
type Opening<T> = Pin<Box<dyn Future<Output = Result<Response<Streaming<T>>, Status>> + Send>>;

pub(crate) struct Stream<C: Call> {
    dialer: Dialer,
    backoff: Backoff,
    state: State<C>,
}

enum State<C: Call> {
    Waiting(Instant),
    Dialing(Dialing),
    Opening(Opening<C::Down>),
    Open(Box<Streaming<C::Down>>),
}

impl<C: Call> Stream<C> {
    pub(crate) fn new(dialer: Dialer) -> Stream<C> {
        let backoff = Backoff::new(dialer.config.redial_max);
        Stream { dialer, backoff, state: State::Waiting(Instant::now()) }
    }

    pub(crate) async fn next(&mut self) -> Happened<C> {
        loop {
            match &mut self.state {
                State::Waiting(until) => {
                    tokio::time::sleep_until(*until).await;
                    let dialer = self.dialer.clone();
                    self.state = State::Dialing(Box::pin(async move { dialer.dial().await }));
                }
                State::Dialing(dialing) => match dialing.await {
                    Ok(line) => return Happened::Opened(self.open(line)),
                    Err(error) => return self.lost(error),
                },
                State::Opening(opening) => match opening.await {
                    Ok(response) => {
                        self.backoff.opened();
                        self.state = State::Open(Box::new(response.into_inner()));
                    }
                    Err(status) => return self.lost(DialError::Broken(Box::new(status))),
                },
                State::Open(stream) => match stream.message().await {
                    Ok(Some(down)) => return Happened::Came(down),
                    Ok(None) => return self.lost(DialError::Ended),
                    Err(status) => return self.lost(DialError::Broken(Box::new(status))),
                },
            }
        }
    }

    /// Gives up the connection, to dial anew at once.
    pub(crate) fn redial(&mut self) {
        self.state = State::Waiting(Instant::now() + self.backoff.pause());
    }

    /// Gives up the connection until it is asked for again.
    pub(crate) fn hang_up(&mut self) {
        self.state = State::Waiting(Instant::now());
    }

    /// After our side of the stream was closed: waits until the server has read it all, or for so long.
    pub(crate) async fn drained(&mut self, patience: Duration) {
        let State::Open(stream) = &mut self.state else { return };
        let _ = tokio::time::timeout(patience, async { while let Ok(Some(_)) = stream.message().await {} }).await;
    }

    /// The request is sent with the first message in it: a server may want to hear from us before it answers.
    fn open(&mut self, line: Line) -> UnboundedSender<C::Up> {
        let (sender, receiver) = unbounded_channel();
        self.state = State::Opening(C::open(line, receiver));
        sender
    }

    fn lost(&mut self, error: DialError) -> Happened<C> {
        self.redial();
        Happened::Lost(error)
    }
}
