// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>
#include <json-c/json.h>

#include "log_leader.h"

#define ANSWER_BYTES	65536u
#define KEY_BYTES	128u
#define MAX_TTL		9000000000	/* of etcd */
#define POLL_MS		100	/* between looks at another leader */

static uint64_t log_leader_now(void)
{
	struct timespec now;

	/* also runs while the machine sleeps */
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void log_leader_nap(unsigned int ms)
{
	const struct timespec time = {
		.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l,
	};

	nanosleep(&time, NULL);
}

/* ---- etcd's gateway: JSON, with keys and values in base64 ---- */

static const char log_base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void log_leader_encode(const char *text, char *out)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i += 3) {
		uint32_t bits = 0;

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 |
			       (i + j < length ? (uint8_t)text[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*out++ = i + j > length ? '=' :
				 log_base64[bits >> (18 - 6 * j) & 63];
	}
	*out = '\0';
}

/* One more decimal digit. Return: false when it is none, or the number is too large. */
static bool log_leader_digit(int64_t *number, uint32_t c)
{
	return c - '0' <= 9 &&
	       !__builtin_mul_overflow(*number, (int64_t)10, number) &&
	       !__builtin_add_overflow(*number, (int64_t)(c - '0'), number);
}

/* A number in decimal digits; 0 for anything else. */
static uint64_t log_leader_decode(const char *text)
{
	uint32_t bits = 0, count = 0;
	int64_t number = 0;
	const char *at;

	for (; *text && *text != '='; text++) {
		at = strchr(log_base64, *text);
		if (!at)
			return 0;
		bits = bits << 6 | (uint32_t)(at - log_base64);
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		if (!log_leader_digit(&number, bits >> count & 0xff))
			return 0;
	}
	return (uint64_t)number;
}

struct log_reply {
	char reason[128];	/* why it is none */
	size_t length;
	char text[ANSWER_BYTES];
};

static size_t log_leader_receive(char *data, size_t size, size_t count,
				 void *ctx)
{
	struct log_reply *reply = ctx;
	size_t length = size * count;

	if (length >= sizeof(reply->text) - reply->length)
		return 0;	/* too long: an error */
	memcpy(reply->text + reply->length, data, length);
	reply->length += length;
	reply->text[reply->length] = '\0';
	return length;
}

static bool log_leader_post(const char *url, const char *body, long ms,
			    struct log_reply *reply)
{
	struct curl_slist *headers = NULL;
	CURL *curl = curl_easy_init();
	long status = 0;
	CURLcode code;

	reply->length = 0;
	reply->text[0] = '\0';
	strcpy(reply->reason, "no memory");
	if (!curl)
		return false;
	headers = curl_slist_append(headers, "Content-Type: application/json");
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, log_leader_receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ms);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	code = curl_easy_perform(curl);
	if (code == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status)
		snprintf(reply->reason, sizeof(reply->reason),
			 "HTTP status %ld", status);
	else
		snprintf(reply->reason, sizeof(reply->reason), "%s",
			 curl_easy_strerror(code));
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return status == 200;
}

/* Without a name and a password, which are for the server only. */
static const char *log_leader_shown(const char *url)
{
	const char *host = strstr(url, "://"), *at;

	host = host ? host + 3 : url;
	at = memrchr(host, '@', strcspn(host, "/?#"));
	return at ? at + 1 : url;
}

/* Silence is reported once. That a lease has ended is an answer, too. */
static void log_leader_notice(struct log_leader *leader, const char *url,
			      const struct log_reply *reply, bool answers)
{
	bool silent = !answers && !strstr(reply->text, "lease not found");

	if (silent &&
	    !__atomic_exchange_n(&leader->silent, true, __ATOMIC_RELAXED))
		fprintf(stderr, "cairn_log: etcd does not answer at %s: %s\n",
			log_leader_shown(url), reply->reason);
	if (!silent)
		__atomic_store_n(&leader->silent, false, __ATOMIC_RELAXED);
}

/* The @nth of the URLs, modulo their number, and @path behind it. */
static void log_leader_url(const struct log_leader *leader, unsigned int nth,
			   const char *path, char *out, size_t size)
{
	const char *url = leader->urls, *end;
	unsigned int count = 1;

	for (const char *at = url; *at; at++)
		count += *at == ',';
	for (nth %= count; nth; nth--)
		url = strchr(url, ',') + 1;
	end = strchrnul(url, ',');
	while (end > url && end[-1] == '/')
		end--;
	snprintf(out, size, "%.*s%s", (int)(end - url), url, path);
}

/* A field that is text. Return: NULL for anything else. */
static const char *log_leader_text(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;
	const char *text;

	json_object_object_get_ex(object, name, &value);
	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ?
	       text : NULL;
}

/*
 * Numbers are strings there, and a field that is 0 is left out. Return: false when the
 * field is anything else; @number is 0 then.
 */
static bool log_leader_number(struct json_object *object, const char *name,
			      int64_t *number)
{
	const char *text = log_leader_text(object, name);

	*number = 0;
	if (!text)
		return !json_object_object_get_ex(object, name, NULL);
	for (; *text && log_leader_digit(number, (uint8_t)*text); text++)
		;
	if (*text)
		*number = 0;
	return !*text;
}

/* Takes from an answer what @out wants to know. Return: false: it is none of etcd. */
typedef bool (*log_leader_reader)(const struct log_leader *leader,
				  struct json_object *answer, void *out);

/* All that etcd answers is an object with a header and the revision of the store. */
static bool log_leader_read_header(const struct log_leader *leader,
				   struct json_object *answer, void *out)
{
	struct json_object *header = NULL;
	int64_t revision;

	(void)leader;
	(void)out;
	json_object_object_get_ex(answer, "header", &header);
	return log_leader_number(header, "revision", &revision) && revision;
}

/* One object, and nothing behind it. Return: NULL for anything else. */
static struct json_object *log_leader_parse(const struct log_reply *reply)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, reply->text, (int)reply->length);
	json_tokener_free(tokener);
	return object;
}

static bool log_leader_understand(const struct log_leader *leader,
				  struct log_reply *reply,
				  log_leader_reader read, void *out)
{
	struct json_object *answer = log_leader_parse(reply);
	bool understood = json_object_is_type(answer, json_type_object) &&
			  read(leader, answer, out);

	json_object_put(answer);
	if (!understood)
		strcpy(reply->reason, "that is no answer of etcd");
	return understood;
}

/* Each of the servers gets a third of the lease's time. Return: false without an answer. */
static bool log_leader_call(struct log_leader *leader, const char *path,
			    const char *body, log_leader_reader read, void *out)
{
	struct log_reply *reply = malloc(sizeof(*reply));
	bool answered = false;
	unsigned int first, i;
	char url[512] = "";

	first = __atomic_load_n(&leader->url, __ATOMIC_RELAXED);
	for (i = 0; reply && i < 3 && !answered; i++) {
		log_leader_url(leader, first + i, path, url, sizeof(url));
		answered = log_leader_post(url, body,
					   (long)leader->ttl * 1000 / 3, reply) &&
			   log_leader_understand(leader, reply, read, out);
		/* the one that answers is asked first, or the next three */
		__atomic_store_n(&leader->url, first + i + !answered,
				 __ATOMIC_RELAXED);
	}
	if (reply)
		log_leader_notice(leader, url, reply, answered);
	free(reply);
	return answered;
}

/* ---- the lease ---- */

static void log_leader_extend(struct log_leader *leader, uint64_t asked,
			      int64_t ttl)
{
	__atomic_store_n(&leader->valid_until, asked + (uint64_t)ttl * 1000,
			 __ATOMIC_RELEASE);
}

struct log_lease {
	int64_t id;
	int64_t ttl;		/* seconds; 0: it has ended */
};

static bool log_leader_read_lease(const struct log_leader *leader,
				  struct json_object *answer, void *out)
{
	struct log_lease *lease = out;

	return log_leader_read_header(leader, answer, NULL) &&
	       log_leader_number(answer, "ID", &lease->id) && lease->id &&
	       log_leader_number(answer, "TTL", &lease->ttl) &&
	       lease->ttl <= MAX_TTL;
}

static bool log_leader_read_grant(const struct log_leader *leader,
				  struct json_object *answer, void *out)
{
	const struct log_lease *lease = out;

	return log_leader_read_lease(leader, answer, out) && lease->ttl;
}

/* An answer about another lease is none. */
static bool log_leader_read_renewal(const struct log_leader *leader,
				    struct json_object *answer, void *out)
{
	const struct log_lease *lease = out;
	struct json_object *result = NULL;

	json_object_object_get_ex(answer, "result", &result);
	return log_leader_read_lease(leader, result, out) &&
	       lease->id == leader->lease;
}

static int log_leader_grant(struct log_leader *leader)
{
	uint64_t asked = log_leader_now();
	struct log_lease lease;
	char body[64];

	leader->lease = 0;
	snprintf(body, sizeof(body), "{\"TTL\":\"%" PRIu32 "\"}", leader->ttl);
	if (!log_leader_call(leader, "/v3/lease/grant", body,
			     log_leader_read_grant, &lease))
		return EHOSTUNREACH;
	leader->lease = lease.id;
	log_leader_extend(leader, asked, lease.ttl);
	return 0;
}

/* Return: 0, EHOSTUNREACH without an answer, or ESTALE when it has ended. */
static int log_leader_renew(struct log_leader *leader)
{
	uint64_t asked = log_leader_now();
	struct log_lease lease;
	char body[64];

	snprintf(body, sizeof(body), "{\"ID\":\"%" PRId64 "\"}", leader->lease);
	if (!log_leader_call(leader, "/v3/lease/keepalive", body,
			     log_leader_read_renewal, &lease))
		return EHOSTUNREACH;
	if (!lease.ttl)
		return ESTALE;
	log_leader_extend(leader, asked, lease.ttl);
	return 0;
}

static void log_leader_revoke(struct log_leader *leader)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"ID\":\"%" PRId64 "\"}", leader->lease);
	log_leader_call(leader, "/v3/lease/revoke", body, log_leader_read_header,
			NULL);
	leader->lease = 0;
}

bool log_leader_is_valid(const struct log_leader *leader)
{
	return log_leader_now() < __atomic_load_n(&leader->valid_until,
						  __ATOMIC_ACQUIRE);
}

bool log_leader_has_ended(struct log_leader *leader)
{
	int err = EHOSTUNREACH;

	while (err == EHOSTUNREACH && log_leader_is_valid(leader)) {
		err = log_leader_renew(leader);
		if (err == EHOSTUNREACH)
			log_leader_nap(POLL_MS);
	}
	return err != 0;
}

/* A lease that has ended does not come back. */
static void *log_leader_keep(void *ctx)
{
	struct log_leader *leader = ctx;
	uint64_t next = 0;

	while (__atomic_load_n(&leader->keeping, __ATOMIC_ACQUIRE)) {
		log_leader_nap(POLL_MS / 2);
		if (log_leader_now() < next || !log_leader_is_valid(leader))
			continue;
		next = log_leader_now() + leader->ttl * 1000 / 3;
		if (log_leader_renew(leader) == ESTALE)
			log_leader_extend(leader, 0, 0);
	}
	return NULL;
}

/* ---- the election ---- */

struct log_election {
	bool taken;
	bool ours;
	uint64_t epoch;		/* of the last leader; 0: none */
	int64_t revision;	/* of its key */
};

static void log_leader_key(const struct log_leader *leader, const char *what,
			   char *out)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "cairn_log/%s/%s", leader->name, what);
	log_leader_encode(key, out);
}

static bool log_leader_read_epoch(struct json_object *entry,
				  struct log_election *election)
{
	const char *value = log_leader_text(entry, "value");

	election->epoch = value ? log_leader_decode(value) : 0;
	return election->epoch &&
	       log_leader_number(entry, "mod_revision", &election->revision) &&
	       election->revision;
}

static bool log_leader_read_key(const struct log_leader *leader,
				struct json_object *entry,
				struct log_election *election)
{
	const char *found = log_leader_text(entry, "key");
	char name[2 * KEY_BYTES];
	int64_t lease;

	if (!found)
		return false;
	log_leader_key(leader, "epoch", name);
	if (!strcmp(found, name))
		return log_leader_read_epoch(entry, election);
	/* a log with a longer name may have its keys between these two */
	log_leader_key(leader, "leader", name);
	if (strcmp(found, name))
		return true;
	election->taken = true;
	if (!log_leader_number(entry, "lease", &lease))
		return false;
	election->ours = lease == leader->lease;
	return true;
}

static bool log_leader_read_keys(const struct log_leader *leader,
				 struct json_object *answer, void *out)
{
	struct json_object *entries = NULL;
	bool found, all;
	int64_t count;
	size_t i;

	memset(out, 0, sizeof(struct log_election));
	found = json_object_object_get_ex(answer, "kvs", &entries);
	if (!log_leader_read_header(leader, answer, NULL) ||
	    !log_leader_number(answer, "count", &count))
		return false;
	if (!found)
		return !count;
	all = json_object_is_type(entries, json_type_array) &&
	      json_object_array_length(entries) == (size_t)count;
	for (i = 0; all && i < (size_t)count; i++)
		all = log_leader_read_key(leader,
					  json_object_array_get_idx(entries, i),
					  out);
	return all;
}

/* Both keys at one revision. */
static int log_leader_look(struct log_leader *leader,
			   struct log_election *election)
{
	char first[2 * KEY_BYTES], end[2 * KEY_BYTES], body[5 * KEY_BYTES];

	log_leader_key(leader, "epoch", first);
	log_leader_key(leader, "leader0", end);
	snprintf(body, sizeof(body), "{\"key\":\"%s\",\"range_end\":\"%s\"}",
		 first, end);
	return log_leader_call(leader, "/v3/kv/range", body,
			       log_leader_read_keys, election) ? 0 : EHOSTUNREACH;
}

static bool log_leader_read_swap(const struct log_leader *leader,
				 struct json_object *answer, void *out)
{
	struct json_object *won = NULL;
	bool *swapped = out;

	*swapped = false;
	if (!log_leader_read_header(leader, answer, NULL))
		return false;
	if (!json_object_object_get_ex(answer, "succeeded", &won))
		return true;
	*swapped = json_object_get_boolean(won);
	return json_object_is_type(won, json_type_boolean);
}

/* Compare and swap: if there is still no leader, and no epoch that we did not see. */
static int log_leader_swap(struct log_leader *leader,
			   const struct log_election *election, uint64_t epoch)
{
	char key[2][2 * KEY_BYTES], value[2][64], number[32];
	char body[2048];
	bool swapped;

	log_leader_key(leader, "leader", key[0]);
	log_leader_key(leader, "epoch", key[1]);
	snprintf(number, sizeof(number), "%" PRIu64, leader->client);
	log_leader_encode(number, value[0]);
	snprintf(number, sizeof(number), "%" PRIu64, epoch);
	log_leader_encode(number, value[1]);
	snprintf(body, sizeof(body),
		 "{\"compare\":[{\"key\":\"%s\",\"target\":\"VERSION\","
		 "\"result\":\"EQUAL\",\"version\":\"0\"},"
		 "{\"key\":\"%s\",\"target\":\"MOD\",\"result\":\"EQUAL\","
		 "\"mod_revision\":\"%" PRId64 "\"}],\"success\":["
		 "{\"request_put\":{\"key\":\"%s\",\"value\":\"%s\","
		 "\"lease\":\"%" PRId64 "\"}},"
		 "{\"request_put\":{\"key\":\"%s\",\"value\":\"%s\"}}]}",
		 key[0], key[1], election->revision, key[0], value[0],
		 leader->lease, key[1], value[1]);
	if (!log_leader_call(leader, "/v3/kv/txn", body, log_leader_read_swap,
			     &swapped) || !swapped)
		return EAGAIN;
	leader->epoch = epoch;
	return 0;
}

/* One attempt. An answer that was lost is found by the next look. */
static int log_leader_try(struct log_leader *leader, uint64_t seen)
{
	struct log_election election;
	int err = 0;

	if (!leader->lease || !log_leader_is_valid(leader))
		err = log_leader_grant(leader);
	if (!err)
		err = log_leader_look(leader, &election);
	if (err)
		return EAGAIN;
	if (election.ours && election.epoch > seen) {
		leader->epoch = election.epoch;
		return 0;
	}
	if (election.ours)
		log_leader_revoke(leader);
	if (election.taken) {
		if (leader->lease && log_leader_now() + leader->ttl * 500 >
				     leader->valid_until)
			log_leader_renew(leader);
		return EAGAIN;
	}
	if (seen < election.epoch)
		seen = election.epoch;
	return log_leader_swap(leader, &election, seen + 1);
}

int log_leader_campaign(struct log_leader *leader, uint64_t seen, uint32_t ms)
{
	uint64_t until = log_leader_now() + ms;
	int err;

	if (strlen(leader->name) > LOG_LEADER_NAME)
		return ENAMETOOLONG;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	for (;;) {
		err = log_leader_try(leader, seen);
		if (err != EAGAIN)
			break;
		if (ms && log_leader_now() > until)
			return ETIMEDOUT;
		log_leader_nap(POLL_MS);
	}
	leader->keeping = true;
	err = pthread_create(&leader->keeper, NULL, log_leader_keep, leader);
	if (err) {
		leader->keeping = false;
		log_leader_revoke(leader);
	}
	return err;
}

void log_leader_resign(struct log_leader *leader)
{
	if (leader->keeping) {
		__atomic_store_n(&leader->keeping, false, __ATOMIC_RELEASE);
		pthread_join(leader->keeper, NULL);
	}
	leader->keeping = false;
	if (leader->lease)
		log_leader_revoke(leader);
	log_leader_extend(leader, 0, 0);
}
