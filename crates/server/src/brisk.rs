//! A connection that must get on: whoever never takes what they asked for, or falls silent where they must not, is let go.
//! A connection on which nothing waits to be sent may stay as it is for ever: a log that is followed says nothing for days.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Until somebody at the other end takes a piece of what is sent.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// Holds a place as long as it is open.
pub(crate) struct Brisk<S, P> {
    stream: S,
    taken_within: Duration,
    /// Runs while something waits to be sent.
    waits: Option<Pin<Box<Sleep>>>,
    silence: Option<Silence>,
    _place: P,
}

/// How long nothing may be heard.
struct Silence {
    most: Duration,
    heard: Instant,
    ends: Pin<Box<Sleep>>,
}

impl<S, P> Brisk<S, P> {
    pub(crate) fn new(stream: S, place: P, taken_within: Duration) -> Brisk<S, P> {
        Brisk { stream, taken_within, waits: None, silence: None, _place: place }
    }

    /// For a peer that must say something now and then, if only that it is there.
    pub(crate) fn heard_within(self, most: Duration) -> Brisk<S, P> {
        let silence = Silence { most, heard: Instant::now(), ends: Box::pin(sleep(most)) };
        Brisk { silence: Some(silence), ..self }
    }

    /// The outcome of a write, unless it has been waiting for too long.
    fn taken<T>(&mut self, outcome: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waits = None;
            return outcome;
        }
        let within = self.taken_within;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(waits.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nobody takes what is sent")))
    }
}

impl Silence {
    /// Ready when it has lasted too long. Hearing something costs a look at the clock and no timer.
    fn poll_ends(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.ends.as_mut().poll(cx));
            if self.heard + self.most <= Instant::now() {
                return Poll::Ready(());
            }
            self.ends = Box::pin(sleep_until(self.heard + self.most));
        }
    }
}

impl<S: AsyncRead + Unpin, P: Unpin> AsyncRead for Brisk<S, P> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(silence) = &mut self.silence else { return outcome };
        if outcome.is_ready() {
            silence.heard = Instant::now();
            return outcome;
        }
        ready!(silence.poll_ends(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing was heard for too long")))
    }
}

impl<S: AsyncWrite + Unpin, P: Unpin> AsyncWrite for Brisk<S, P> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.taken(outcome, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.taken(outcome, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<P> Connected for Brisk<TcpStream, P> {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_reader_who_takes_nothing_is_let_go() {
        let (stream, _never_read) = tokio::io::duplex(64);
        let mut brisk = Brisk::new(stream, (), SOON);
        let failed = brisk.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn one_who_takes_a_little_now_and_then_is_not() {
        let (stream, mut other) = tokio::io::duplex(1);
        let mut brisk = Brisk::new(stream, (), Duration::from_secs(60));
        let slow = tokio::spawn(async move {
            let mut taken = Vec::new();
            while taken.len() < 20 {
                tokio::task::yield_now().await;
                taken.push(other.read_u8().await.unwrap());
            }
            other
        });
        brisk.write_all(&[7; 20]).await.unwrap();
        assert!(brisk.waits.is_none(), "nothing waits any more: the time it took counts no longer");
        drop(slow.await.unwrap());
    }

    #[tokio::test]
    async fn silence_ends_it_where_it_must_not_be() {
        let (stream, _silent) = tokio::io::duplex(64);
        let mut brisk = Brisk::new(stream, (), SOON).heard_within(SOON);
        assert_eq!(brisk.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
