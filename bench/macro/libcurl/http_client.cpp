// SPDX-License-Identifier: BSL-1.0
//
// HTTP calls with libcurl's multi interface, driven by sockets over epoll, which is its form for
// many connections: 32 easy handles that are used again and again.
#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "../common/http_calls.hpp"

namespace {

void require_ok(CURLMcode code) {
  if (code != CURLM_OK) bench::fail(curl_multi_strerror(code));
}

void require_ok(CURLcode code) {
  if (code != CURLE_OK) bench::fail(curl_easy_strerror(code));
}

std::size_t count_bytes(char*, std::size_t, std::size_t n, void* bytes) {
  *static_cast<std::size_t*>(bytes) += n;
  return n;
}

class client {
 public:
  explicit client(bench::http_calls& c)
      : calls_(c), url_(c.url()), poller_(epoll_create1(EPOLL_CLOEXEC)), multi_(curl_multi_init()) {
    if (poller_ < 0) bench::fail_errno("epoll_create1");
    require_ok(curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &client::watch));
    require_ok(curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this));
    require_ok(curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &client::set_timer));
    require_ok(curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this));
    for (call& each : all_) prepare(each);
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() {
    for (call& each : all_) curl_easy_cleanup(each.easy);
    curl_multi_cleanup(multi_);
    close(poller_);
  }

  void run() {
    for (call& each : all_) start(each);
    epoll_event events[bench::http_calls::in_flight];
    while (left_ != 0) {
      const int n = epoll_wait(poller_, events, bench::http_calls::in_flight, timeout_ms_);
      if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
      for (int i = 0; i < n; ++i) {
        const bool reads = (events[i].events & ~static_cast<unsigned>(EPOLLOUT)) != 0;
        const bool writes = (events[i].events & EPOLLOUT) != 0;
        act(events[i].data.fd, (reads ? CURL_CSELECT_IN : 0) | (writes ? CURL_CSELECT_OUT : 0));
      }
      take_responses();
      // The timer is also how libcurl asks to start the calls that were added.
      if (n == 0 || timeout_ms_ == 0) act(CURL_SOCKET_TIMEOUT, 0);
    }
  }

 private:
  struct call {
    CURL* easy;
    std::size_t bytes;
  };

  void prepare(call& each) {
    each.easy = curl_easy_init();
    require_ok(curl_easy_setopt(each.easy, CURLOPT_URL, url_.c_str()));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_NOSIGNAL, 1L));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_NOPROXY, "*"));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_BUFFERSIZE,
                                static_cast<long>(bench::http_calls::buffer_size)));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_WRITEFUNCTION, count_bytes));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_WRITEDATA, &each.bytes));
    require_ok(curl_easy_setopt(each.easy, CURLOPT_PRIVATE, &each));
  }

  void start(call& each) {
    each.bytes = 0;
    require_ok(curl_multi_add_handle(multi_, each.easy));
  }

  void act(curl_socket_t socket, int events) {
    if (socket == CURL_SOCKET_TIMEOUT) timeout_ms_ = -1;
    int running = 0;
    require_ok(curl_multi_socket_action(multi_, socket, events, &running));
  }

  void take_responses() {
    int more = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &more)) {
      require_ok(message->data.result);
      CURL* const easy = message->easy_handle;
      call* of = nullptr;
      long status = 0;
      require_ok(curl_easy_getinfo(easy, CURLINFO_PRIVATE, &of));
      require_ok(curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status));
      require_ok(curl_multi_remove_handle(multi_, easy));
      if (calls_.take(static_cast<unsigned>(status), of->bytes))
        start(*of);
      else
        --left_;
    }
  }

  static int watch(CURL*, curl_socket_t socket, int wanted, void* self, void* known) {
    auto& c = *static_cast<client*>(self);
    epoll_event e{};
    e.data.fd = socket;
    if ((wanted & CURL_POLL_IN) != 0) e.events |= EPOLLIN;
    if ((wanted & CURL_POLL_OUT) != 0) e.events |= EPOLLOUT;
    const int operation = wanted == CURL_POLL_REMOVE ? EPOLL_CTL_DEL
                          : known != nullptr         ? EPOLL_CTL_MOD
                                                     : EPOLL_CTL_ADD;
    if (epoll_ctl(c.poller_, operation, socket, &e) != 0) bench::fail_errno("epoll_ctl");
    if (wanted != CURL_POLL_REMOVE) curl_multi_assign(c.multi_, socket, self);
    return 0;
  }

  static int set_timer(CURLM*, long ms, void* self) {
    static_cast<client*>(self)->timeout_ms_ = static_cast<int>(ms);
    return 0;
  }

  bench::http_calls& calls_;
  std::string url_;
  int poller_;
  CURLM* multi_;
  call all_[bench::http_calls::in_flight] = {};
  std::size_t left_ = bench::http_calls::in_flight;
  int timeout_ms_ = -1;
};

template <std::size_t Body>
void run(bench::meter& m) {
  curl_global_init(CURL_GLOBAL_NOTHING);
  bench::http_calls calls(m, Body);
  client c(calls);
  m.start();
  c.run();
  m.finish(calls.done());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_client", {{"1k", run<1024>}, {"64k", run<65536>}});
}
