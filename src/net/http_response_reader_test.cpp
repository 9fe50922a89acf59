#include "net/http_response_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::net {
namespace {

using Got = HttpResponseReader::Got;

struct Read {
    int status = 0;
    HttpHeaders headers;
    std::string body;
    std::string fault;  // "": whole; "more": not yet
    std::string rest;
    bool keeps_alive = false;
};

Read read_all(HttpResponseReader& reader, std::string_view bytes, std::size_t step, bool ends) {
    Read read;
    for (std::size_t at = 0; at <= bytes.size(); at += step) {
        std::string_view piece = bytes.substr(at, step);
        for (Got got = Got::head; got != Got::more;) {
            got = reader.next(piece);
            if (got == Got::head) {
                HttpResponseHead head = reader.take_head();
                read.status = head.status;
                read.headers = std::move(head.headers);
            } else if (got == Got::data) {
                EXPECT_FALSE(reader.data().empty());
                read.body += reader.data();
            } else if (got == Got::refused) {
                read.fault = reader.fault().reason;
                return read;
            } else if (got == Got::whole) {
                read.keeps_alive = reader.keeps_alive();
                read.rest = std::string(piece) + std::string(bytes.substr(std::min(at + step, bytes.size())));
                return read;
            }
        }
    }
    read.fault = !ends ? "more" : reader.end() == Got::whole ? "" : reader.fault().reason;
    return read;
}

HttpClientLimits small() {
    HttpClientLimits limits;
    limits.max_head_bytes = 200;
    limits.max_headers = 4;
    limits.max_body_bytes = 20;
    return limits;
}

// However the bytes are cut.
Read read(std::string_view bytes, bool ends = false, bool to_head = false) {
    HttpResponseReader whole(small(), to_head);
    Read expected = read_all(whole, bytes, bytes.size() + 1, ends);
    for (std::size_t step = 1; step < 8; ++step) {
        HttpResponseReader cut(small(), to_head);
        const Read other = read_all(cut, bytes, step, ends);
        EXPECT_EQ(other.status, expected.status) << step;
        EXPECT_EQ(other.headers, expected.headers) << step;
        EXPECT_EQ(other.body, expected.body) << step;
        EXPECT_EQ(other.fault, expected.fault) << step;
        EXPECT_EQ(other.rest, expected.rest) << step;
        EXPECT_EQ(other.keeps_alive, expected.keeps_alive) << step;
    }
    return expected;
}

TEST(HttpResponseReader, ReadsEachWayToSayWhereABodyEnds) {
    const Read sized = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX:  a b \t\r\n\r\nhellorest");
    EXPECT_EQ(sized.fault, "");
    EXPECT_EQ(sized.status, 200);
    EXPECT_EQ(sized.headers, (HttpHeaders{{"Content-Length", "5"}, {"X", "a b"}}));
    EXPECT_EQ(sized.body, "hello");
    EXPECT_EQ(sized.rest, "rest");
    EXPECT_TRUE(sized.keeps_alive);
    const Read chunked = read(
        "HTTP/1.1 404\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nhel\r\n02\r\nlo\r\n0\r\nT: "
        "r\r\n\r\nrest");
    EXPECT_EQ(chunked.fault, "");
    EXPECT_EQ(chunked.status, 404);
    EXPECT_EQ(chunked.body, "hello");
    EXPECT_EQ(chunked.rest, "rest");
    EXPECT_TRUE(chunked.keeps_alive);
    const Read ended = read("HTTP/1.1 200 OK\r\n\r\nhello", true);
    EXPECT_EQ(ended.fault, "");
    EXPECT_EQ(ended.body, "hello");
    const Read old = read("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
    EXPECT_EQ(old.body, "hi");
    EXPECT_FALSE(old.keeps_alive);
    EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nConnection: x , Close\r\nContent-Length: 0\r\n\r\n").keeps_alive);
}

TEST(HttpResponseReader, SomeAnswersHaveNoBodyWhateverTheySay) {
    EXPECT_EQ(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nrest").rest, "rest");
    EXPECT_TRUE(read("HTTP/1.1 204 No Content\r\n\r\nrest").keeps_alive);
    EXPECT_FALSE(read("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nrest").keeps_alive);
    EXPECT_FALSE(read("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").keeps_alive);
    const Read head = read("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\nrest", false, true);
    EXPECT_EQ(head.rest, "rest");
    EXPECT_TRUE(head.keeps_alive);
}

TEST(HttpResponseReader, AnswersThatAnnounceAnotherAreSkippedButNotForEver) {
    const Read read_after = read(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 3\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_EQ(read_after.status, 200);
    EXPECT_EQ(read_after.headers.size(), 1u);
    EXPECT_EQ(read_after.body, "hi");
    std::string flood;
    for (int i = 0; i < 100; ++i) flood += "HTTP/1.1 100\r\n\r\n";
    EXPECT_EQ(read(flood).fault, "too_large");
    HttpResponseReader counted(HttpClientLimits(), false);
    EXPECT_EQ(read_all(counted, flood, flood.size() + 1, false).fault, "too_large");
    EXPECT_EQ(read("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").fault, "malformed");
}

TEST(HttpResponseReader, WhatCanBeUnderstoodInTwoWaysIsRefused) {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    for (const std::string& bad :
         std::vector<std::string>{"SSH-2.0-x\r\n",
                                  "\r\nHTTP/1.1 200 OK\r\n\r\n",
                                  "HTTP/2 200\r\n\r\n",
                                  "HTTP/1.2 200 OK\r\n\r\n",
                                  "http/1.1 200 OK\r\n\r\n",
                                  "HTTP/1.1  200 OK\r\n\r\n",
                                  "HTTP/1.1 20 OK\r\n\r\n",
                                  "HTTP/1.1 2000 OK\r\n\r\n",
                                  "HTTP/1.1 099 OK\r\n\r\n",
                                  "HTTP/1.1 600 OK\r\n\r\n",
                                  "HTTP/1.1 200\tOK\r\n\r\n",
                                  "HTTP/1.1 200 O\x01K\r\n\r\n",
                                  "HTTP/1.1\n",
                                  "HTTP/1.1 200 OK\nX: y\r\n\r\n",
                                  ok + "X: y\n\r\n",
                                  ok + "X: a\rb\r\n\r\n",
                                  ok + "X : y\r\n\r\n",
                                  ok + ": y\r\n\r\n",
                                  ok + "X\r\n\r\n",
                                  ok + " X: y\r\n\r\n",
                                  ok + "X: y\r\n z\r\n\r\n",
                                  ok + "X: y\r\n\tz\r\n\r\n",
                                  ok + "X: a\x01\r\n\r\n",
                                  ok + std::string("X: a\0b\r\n\r\n", 10),
                                  ok + "\rX: y\r\n\r\n",
                                  ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
                                  ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                                  ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
                                  ok + "Content-Length: 5, 5\r\n\r\n",
                                  ok + "Content-Length: +5\r\n\r\n",
                                  ok + "Content-Length: -5\r\n\r\n",
                                  ok + "Content-Length: 0x5\r\n\r\n",
                                  ok + "Content-Length: 5 5\r\n\r\n",
                                  ok + "Content-Length:\r\n\r\n",
                                  ok + "Content-Length: 18446744073709551616\r\n\r\n",
                                  ok + "Transfer-Encoding: gzip\r\n\r\n",
                                  ok + "Transfer-Encoding: gzip, chunked\r\n\r\n",
                                  ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                                  ok + "Transfer-Encoding: xchunked\r\n\r\n",
                                  ok + "Transfer-Encoding:\r\n\r\n",
                                  "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"})
        EXPECT_EQ(read(bad).fault, "malformed") << bad;
}

TEST(HttpResponseReader, ChunksAreReadInOneWayAlone) {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& bad : std::vector<std::string>{
             "g\r\n", "\r\n", " 5\r\nhello", "5 \r\nhello", "5\nhello", "0x5\r\nhello", "-1\r\n",
             "5\r\nhelloo\r\n", "5\r\nhello\n", "5\r\nhello0\r\n\r\n", "0000000000000005\r\nhello",
             "5;a\nb\r\n", "0\r\nT: r\n\r\n", "0\r\n\rX", "1;" + std::string(300, 'x') + "\r\n"})
        EXPECT_EQ(read(chunked + bad).fault, "malformed") << bad;
    EXPECT_EQ(read(chunked + "15\r\n").fault, "too_large");
    EXPECT_EQ(read(chunked + "14\r\n" + std::string(20, 'x') + "\r\n1\r\n").fault, "too_large");
    EXPECT_EQ(read(chunked + "fffffffffffffff\r\n").fault, "too_large");
    EXPECT_EQ(read(chunked + "0\r\nT: " + std::string(9'000, 'x')).fault, "too_large");
    EXPECT_EQ(read(chunked + "0\r\n\r", true).fault, "cut");
}

TEST(HttpResponseReader, NothingIsLargerThanItMayBe) {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    EXPECT_EQ(read(ok + "X: " + std::string(300, 'x')).fault, "too_large");
    EXPECT_EQ(read("HTTP/1.1 200 " + std::string(300, 'x')).fault, "too_large");
    EXPECT_EQ(read(ok + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n").fault, "too_large");
    EXPECT_EQ(read(ok + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", true).fault, "");
    const Read large = read(ok + "Content-Length: 21\r\n\r\n");
    EXPECT_EQ(large.fault, "too_large");
    EXPECT_EQ(large.status, 200);
    EXPECT_EQ(read(ok + "Content-Length: 20\r\n\r\n" + std::string(20, 'x')).fault, "");
    EXPECT_EQ(read(ok + "\r\n" + std::string(21, 'x')).fault, "too_large");
    EXPECT_EQ(read(ok + "\r\n" + std::string(20, 'x'), true).fault, "");
}

TEST(HttpResponseReader, WhatEndsInItsMiddleIsCut) {
    for (const char* cut :
         {"HTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
          "HTTP/1.1 100 Continue\r\n\r\n"})
        EXPECT_EQ(read(cut, true).fault, "cut") << cut;
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell").fault, "more");
}

TEST(HttpResponseReader, SaysForHowLongThePeerKeepsTheConnection) {
    HttpResponseReader reader(HttpClientLimits(), false);
    const Read read = read_all(
        reader, "HTTP/1.1 200 OK\r\nKeep-Alive: max=5, timeout=7\r\nContent-Length: 0\r\n\r\n", 1'000, false);
    EXPECT_EQ(read.fault, "");
    EXPECT_EQ(reader.keep_alive_seconds(), 7u);
}

}  // namespace
}  // namespace callgate::net
