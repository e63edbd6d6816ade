//! Connections: so many at once, each with its own thread and little patience.

use super::guard::is_meant_for;
use super::live;
use super::request::Request;
use super::response::{Response, Status};
use super::routes::{Answer, Site};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Connections at the same time; most of them are pages that wait for changes.
const MOST: usize = 400;
/// Pages are made with little.
const STACK: usize = 1 << 20;
/// A client that takes nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pages of a folder, for whoever asks.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Arc<Site>,
}

impl Server {
    /// Opens a folder, and a port on an address; port 0 takes one that is free.
    pub fn open(folder: &Path, address: IpAddr, port: u16) -> Result<Server, String> {
        let site = Arc::new(Site::open(folder)?);
        let open = || {
            let listener = TcpListener::bind((address, port))?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = open().map_err(|error: io::Error| {
            format!("--port {port}: {error}; choose another one, or 0 for one that is free")
        })?;
        Ok(Server { listener, address, site })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the process ends.
    pub fn run(&self) -> ! {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            // A client may be gone before it is met, and files may be short for a while.
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(Duration::from_millis(20));
                continue;
            };
            let place = Place::take(&open);
            if place.number >= MOST {
                refuse(stream);
                continue;
            }
            let (site, address) = (self.site.clone(), self.address);
            let work = move || {
                // A connection ends with its client; there is nobody to tell.
                let _ = serve(stream, &site, address);
                drop(place);
            };
            if thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// One of the connections that are open, counted as long as it lives.
struct Place {
    open: Arc<AtomicUsize>,
    number: usize,
}

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Place {
        Place { open: open.clone(), number: open.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refuse(mut stream: TcpStream) {
    let told = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let busy = Response::text(
        Status::Busy,
        "too many connections at once; close some pages, and load this one again",
    );
    let _ = told.and_then(|()| busy.send(&mut stream, true));
}

fn serve(mut stream: TcpStream, site: &Arc<Site>, address: SocketAddr) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let request = match Request::read(&mut stream) {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(()),
        Err(status) => {
            return Response::text(status, "this is no request for a page").send(&mut stream, true);
        }
    };
    if !is_meant_for(&request.host, address) {
        let text = "this server answers only to the address that `muffle serve` printed";
        return Response::text(Status::Misdirected, text).send(&mut stream, request.body);
    }
    match site.answer(&request) {
        Answer::Whole(response) => response.send(&mut stream, request.body),
        Answer::Live(watched, mark) => live::stream(&mut stream, &watched, mark.as_ref()),
    }
}
