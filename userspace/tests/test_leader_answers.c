// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers to the questions of a leader of a log. Only right ones of etcd make a leader, or
 * keep one. The functions of libcurl are here, and time passes by naps only.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "ktap.h"
#include "log_leader.h"

#define LEASE	7587
#define HEADER	"\"header\":{\"cluster_id\":\"14841639068965178418\",\"member_id\":\"1\"," \
		"\"revision\":\"41\",\"raft_term\":\"2\"}"
#define KEY(name, more)	"{\"key\":\"" name "\",\"create_revision\":\"3\",\"version\":\"1\"" more "}"
#define EPOCH	"Y2Fpcm5fbG9nL3QvZXBvY2g="	/* cairn_log/t/epoch */
#define LEADER	"Y2Fpcm5fbG9nL3QvbGVhZGVy"	/* cairn_log/t/leader */
#define LONGER	"Y2Fpcm5fbG9nL3QvbGVhZGVyLXR3bw=="	/* a longer name */
#define SEVEN	",\"mod_revision\":\"40\",\"value\":\"Nw==\""
#define KEYS(entries, count)	"{" HEADER ",\"kvs\":[" entries "],\"count\":\"" count "\"}"
#define SAYS(question, text)	{ question, text, 200, CURLE_OK }
#define RESULT(fields)	"{\"result\":{" HEADER fields "}}\n"

enum question { GRANT, RANGE, TXN, KEEPALIVE, REVOKE, QUESTIONS };

struct answer {
	enum question question;
	const char *text;
	long status;
	CURLcode code;
};

static const char *const paths[QUESTIONS] = {
	"/v3/lease/grant", "/v3/kv/range", "/v3/kv/txn", "/v3/lease/keepalive",
	"/v3/lease/revoke",
};

static const struct answer right[QUESTIONS] = {
	SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"2\"}"),
	SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN), "1")),
	SAYS(TXN, "{" HEADER ",\"succeeded\":true,\"responses\":[{},{}]}"),
	SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"2\"")),
	SAYS(REVOKE, "{" HEADER "}"),
};

/* ---- a server: each question has its right answer, but for one ---- */

static const struct answer *special;	/* NULL: none */
static unsigned int asked[QUESTIONS];

static char endless[1 << 20];

struct transfer {
	const char *url;
	size_t (*write)(char *data, size_t size, size_t count, void *ctx);
	void *ctx;
	long status;
};

CURLcode curl_global_init(long flags)
{
	(void)flags;
	return CURLE_OK;
}

CURL *curl_easy_init(void)
{
	return calloc(1, sizeof(struct transfer));
}

void curl_easy_cleanup(CURL *curl)
{
	free(curl);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	(void)text;
	return list;
}

void curl_slist_free_all(struct curl_slist *list)
{
	(void)list;
}

const char *curl_easy_strerror(CURLcode code)
{
	(void)code;
	return "an error of libcurl";
}

#undef curl_easy_setopt
CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	struct transfer *transfer = curl;
	va_list list;

	va_start(list, option);
	if (option == CURLOPT_URL)
		transfer->url = va_arg(list, const char *);
	if (option == CURLOPT_WRITEFUNCTION)
		transfer->write = va_arg(list, size_t (*)(char *, size_t, size_t, void *));
	if (option == CURLOPT_WRITEDATA)
		transfer->ctx = va_arg(list, void *);
	va_end(list);
	return CURLE_OK;
}

#undef curl_easy_getinfo
CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
	const struct transfer *transfer = curl;
	va_list list;

	va_start(list, info);
	*va_arg(list, long *) = transfer->status;
	va_end(list);
	return CURLE_OK;
}

/* In parts, as from a network. The server with the name "good" is always right. */
CURLcode curl_easy_perform(CURL *curl)
{
	struct transfer *transfer = curl;
	const struct answer *answer = __atomic_load_n(&special, __ATOMIC_ACQUIRE);
	enum question question = 0;
	char part[16];
	size_t n;

	while (!strstr(transfer->url, paths[question]))
		question++;
	__atomic_add_fetch(&asked[question], 1, __ATOMIC_RELAXED);
	if (!answer || answer->question != question || strstr(transfer->url, "//good"))
		answer = &right[question];
	for (const char *at = answer->text; *at; at += n) {
		n = strnlen(at, sizeof(part));
		memcpy(part, at, n);
		if (transfer->write(part, 1, n, transfer->ctx) != n)
			return CURLE_WRITE_ERROR;
	}
	transfer->status = answer->status;
	return answer->code;
}

/* ---- time ---- */

static uint64_t now_ms = 1000000;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ms = __atomic_load_n(&now_ms, __ATOMIC_ACQUIRE);

	(void)clock;
	*now = (struct timespec){
		.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000),
	};
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	__atomic_add_fetch(&now_ms, time->tv_sec * 1000 + time->tv_nsec / 1000000,
			   __ATOMIC_ACQ_REL);
	return usleep(100);
}

static void pass(uint64_t ms)
{
	uint64_t until = __atomic_load_n(&now_ms, __ATOMIC_ACQUIRE) + ms;

	while (__atomic_load_n(&now_ms, __ATOMIC_ACQUIRE) < until)
		usleep(100);	/* the leader's keeper naps */
}

/* ---- a leader ---- */

static int campaign(struct log_leader *leader, const char *urls,
		    const struct answer *answer)
{
	__atomic_store_n(&special, answer, __ATOMIC_RELEASE);
	memset(asked, 0, sizeof(asked));
	*leader = (struct log_leader){
		.urls = urls, .name = "t", .client = 1, .ttl = 2,
	};
	return log_leader_campaign(leader, 3, 300);
}

static void report(const struct answer *answer)
{
	if (ktap_failures)
		printf("# after the answer %.200s to %s\n", answer->text,
		       paths[answer->question]);
}

/* A server with this answer alone makes no leader; one with right answers beside it does. */
static void refuse(const struct answer *answer)
{
	unsigned int before = ktap_failures;
	struct log_leader leader;

	ktap_failures = 0;
	ktap_eq(campaign(&leader, "http://bad", answer), ETIMEDOUT);
	ktap_eq(leader.epoch, 0);
	ktap_ok(asked[answer->question]);
	log_leader_resign(&leader);
	ktap_ok(!log_leader_is_valid(&leader));
	ktap_eq(campaign(&leader, "http://bad,http://good", answer), 0);
	ktap_eq(leader.epoch, 8);
	ktap_eq(leader.lease, LEASE);
	log_leader_resign(&leader);
	report(answer);
	ktap_failures += before;
}

static void right_answers(void)
{
	static const struct answer answers[] = {
		/* of another log, and a leader that has gone */
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN) "," KEY(LONGER, ",\"lease\":\"1\""), "2")),
		/* our own, when the answer to its transaction was lost */
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":\"OA==\"") ","
			      KEY(LEADER, ",\"lease\":\"7587\""), "2")),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"9000000000\"}\n"),
	};
	static const struct answer no_key = SAYS(RANGE, "{" HEADER "}");
	struct log_leader leader;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		ktap_eq(campaign(&leader, "http://a", &answers[i]), 0);
		ktap_eq(leader.epoch, 8);
		log_leader_resign(&leader);
		report(&answers[i]);
	}
	/* the first leader of a log: no key */
	ktap_eq(campaign(&leader, "http://a", &no_key), 0);
	ktap_eq(leader.epoch, 4);
	pass(10000);
	ktap_ok(log_leader_is_valid(&leader));
	ktap_ok(asked[KEEPALIVE]);
	log_leader_resign(&leader);
	ktap_ok(asked[REVOKE]);
}

/* No question has these answers. */
static void other_answers(void)
{
	static const struct answer answers[] = {
		SAYS(0, ""), SAYS(0, "{}"), SAYS(0, "[]"), SAYS(0, "null"), SAYS(0, "true"), SAYS(0, "7587"),
		SAYS(0, "\"succeeded\""), SAYS(0, "{\"header\":{}}"), SAYS(0, "{\"header\":[]}"),
		SAYS(0, "<html>OK</html>"),
		SAYS(0, "{\"error\":\"etcdserver: no leader\",\"code\":14}"),
		SAYS(0, "{\"header\":{\"revision\":\"0\"}}"),
		SAYS(0, "{\"header\":{\"revision\":41}}"),
		SAYS(0, "{\"header\":\"41\",\"ID\":\"7587\",\"TTL\":\"2\",\"succeeded\":true}"),
		SAYS(0, endless),
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		for (enum question question = GRANT; question <= TXN; question++) {
			struct answer answer = answers[i];

			answer.question = question;
			refuse(&answer);
		}
}

/* Right answers that do not arrive whole, or with another status. */
static void broken_answers(void)
{
	static const long statuses[] = { 201, 204, 301, 400, 401, 404, 500, 503 };
	char text[512];

	for (enum question question = GRANT; question <= TXN; question++) {
		struct answer answer = right[question];
		size_t length = strlen(answer.text);

		for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
			answer.status = statuses[i];
			refuse(&answer);
		}
		answer.status = 200;
		answer.code = CURLE_PARTIAL_FILE;
		refuse(&answer);
		answer.code = CURLE_OK;
		answer.text = text;
		for (size_t cut = 1; cut < length; cut += 7) {
			snprintf(text, sizeof(text), "%.*s", (int)(length - cut),
				 right[question].text);
			refuse(&answer);
		}
		/* something behind it */
		snprintf(text, sizeof(text), "%s}", right[question].text);
		refuse(&answer);
		snprintf(text, sizeof(text), "%s%s", right[question].text,
			 right[question].text);
		refuse(&answer);
	}
}

static void wrong_fields(void)
{
	static const struct answer answers[] = {
		SAYS(GRANT, "{" HEADER "}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\"}"),
		SAYS(GRANT, "{" HEADER ",\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":7587,\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":[\"7587\"],\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":null,\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"0x1da3\",\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"-7587\",\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\\u0000\",\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"9223372036854775808\",\"TTL\":\"2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":2}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"-2\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"2s\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":true}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"9000000001\"}"),
		SAYS(GRANT, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"9223372036854775807\"}"),
		SAYS(RANGE, "{" HEADER ",\"count\":\"1\"}"),
		SAYS(RANGE, "{" HEADER ",\"kvs\":{},\"count\":\"1\"}"),
		SAYS(RANGE, "{" HEADER ",\"kvs\":\"none\"}"),
		SAYS(RANGE, "{" HEADER ",\"kvs\":null}"),
		SAYS(RANGE, "{" HEADER ",\"kvs\":false}"),
		SAYS(RANGE, KEYS("", "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN), "2")),
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN), "-1")),
		SAYS(RANGE, KEYS("null", "1")),
		SAYS(RANGE, KEYS("[]", "1")),
		SAYS(RANGE, KEYS("7", "1")),
		SAYS(RANGE, KEYS("\"" EPOCH "\"", "1")),
		SAYS(RANGE, KEYS("{}", "1")),
		SAYS(RANGE, KEYS("{\"key\":null,\"value\":null}", "1")),
		SAYS(RANGE, KEYS("{\"key\":7,\"value\":7}", "1")),
		SAYS(RANGE, KEYS("{\"key\":[\"" EPOCH "\"]}", "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"value\":\"Nw==\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":40,\"value\":\"Nw==\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":7"), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":null"), "1")),
		/* no base64, no number, and one that is too large */
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":\"?\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":\"eDc=\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, ",\"mod_revision\":\"40\",\"value\":"
			      "\"OTk5OTk5OTk5OTk5OTk5OTk5OTk=\""), "1")),
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN) "," KEY(LEADER, ",\"lease\":7587"), "2")),
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN) "," KEY(LEADER, ",\"lease\":{}"), "2")),
		SAYS(TXN, "{" HEADER ",\"succeeded\":\"false\"}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":\"true\"}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":1}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":[true]}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":{}}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":null}"),
		SAYS(TXN, "{\"succeeded\":true}"),
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		refuse(&answers[i]);
}

/* These are answers: no other server is asked. */
static void lost_elections(void)
{
	static const struct answer answers[] = {
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN) "," KEY(LEADER, ",\"lease\":\"1\""), "2")),
		SAYS(RANGE, KEYS(KEY(EPOCH, SEVEN) "," KEY(LEADER, ""), "2")),
		SAYS(TXN, "{" HEADER "}"),
		SAYS(TXN, "{" HEADER ",\"succeeded\":false}"),
	};
	struct log_leader leader;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		ktap_eq(campaign(&leader, "http://bad,http://good", &answers[i]), ETIMEDOUT);
		ktap_eq(leader.epoch, 0);
		ktap_eq(leader.url, 0);
		log_leader_resign(&leader);
		report(&answers[i]);
	}
}

/* A leader whose lease is not renewed leads as long as the lease, and not longer. */
static void renewals(void)
{
	static const struct answer answers[] = {
		SAYS(KEEPALIVE, ""), SAYS(KEEPALIVE, "{}"), SAYS(KEEPALIVE, "[]"),
		SAYS(KEEPALIVE, "{\"result\":[]}"), SAYS(KEEPALIVE, "{\"result\":\"TTL\"}"),
		SAYS(KEEPALIVE, "{\"result\":null}"),
		SAYS(KEEPALIVE, "{\"error\":{\"grpc_code\":14,\"message\":\"no leader\"}}"),
		SAYS(KEEPALIVE, "{" HEADER ",\"ID\":\"7587\",\"TTL\":\"2\"}"),
		SAYS(KEEPALIVE, RESULT(",\"TTL\":\"2\"")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7588\",\"TTL\":\"2\"")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":7587,\"TTL\":\"2\"")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":2")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"-2\"")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":[]")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"9223372036854775807\"")),
		SAYS(KEEPALIVE, "{\"result\":{\"ID\":\"7587\",\"TTL\":\"2\"}}"),
		{ KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"2\""), 503, CURLE_OK },
		{ KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"2\""), 200, CURLE_PARTIAL_FILE },
		SAYS(KEEPALIVE, endless),
		/* that it has ended */
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\"")),
		SAYS(KEEPALIVE, RESULT(",\"ID\":\"7587\",\"TTL\":\"0\"")),
	};
	struct log_leader leader;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		bool ended = i + 2 >= sizeof(answers) / sizeof(answers[0]);

		ktap_eq(campaign(&leader, "http://a", NULL), 0);
		ktap_ok(log_leader_is_valid(&leader));
		__atomic_store_n(&special, &answers[i], __ATOMIC_RELEASE);
		pass(ended ? 1000 : 3000);
		ktap_ok(!log_leader_is_valid(&leader));
		ktap_ok(log_leader_has_ended(&leader));
		log_leader_resign(&leader);
		report(&answers[i]);
	}
	ktap_eq(campaign(&leader, "http://bad,http://good", &answers[0]), 0);
	pass(10000);
	ktap_ok(log_leader_is_valid(&leader));
	ktap_ok(!log_leader_has_ended(&leader));
	log_leader_resign(&leader);
}

/* A key has the whole name, or there is none. */
static void long_names(void)
{
	struct log_leader leader = { .urls = "http://a", .client = 1, .ttl = 2 };
	char name[LOG_LEADER_NAME + 2] = "";

	__atomic_store_n(&special, NULL, __ATOMIC_RELEASE);
	memset(asked, 0, sizeof(asked));
	memset(name, 'n', LOG_LEADER_NAME + 1);
	leader.name = name;
	ktap_eq(log_leader_campaign(&leader, 3, 300), ENAMETOOLONG);
	ktap_ok(!asked[RANGE]);
	ktap_ok(!log_leader_is_valid(&leader));
	name[LOG_LEADER_NAME] = '\0';
	ktap_eq(log_leader_campaign(&leader, 3, 300), 0);
	log_leader_resign(&leader);
}

/* Messages go into logs that others may read. */
static void hidden_passwords(void)
{
	static const struct answer silence = { GRANT, "", 0, CURLE_COULDNT_CONNECT };
	static const char * const urls[] = {
		"http://me:secret@bad:2379", "http://me:sec@ret@bad", "me:secret@bad", "http://bad",
	};
	struct log_leader leader;
	int standard = dup(2);
	char text[256];
	FILE *said;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		said = tmpfile();
		ktap_ok(said && dup2(fileno(said), 2) == 2);
		ktap_eq(campaign(&leader, urls[i], &silence), ETIMEDOUT);
		log_leader_resign(&leader);
		dup2(standard, 2);
		rewind(said);
		ktap_ok(fgets(text, sizeof(text), said));
		ktap_ok(strstr(text, "bad") && !strstr(text, "me:") && !strstr(text, "ret"));
		fclose(said);
	}
	close(standard);
}

static const struct ktap_test tests[] = {
	KTAP(right_answers),
	KTAP(other_answers),
	KTAP(broken_answers),
	KTAP(wrong_fields),
	KTAP(lost_elections),
	KTAP(renewals),
	KTAP(long_names),
	KTAP(hidden_passwords),
};

int main(void)
{
	memset(endless, ' ', sizeof(endless) - 1);
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]));
}
