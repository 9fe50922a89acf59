-- What wrk sends: one POST, again and again. Environment: BODY, and HEADERS, one a line. Where BODY has @ID@ in it, each
-- request gets an id of its own: those of one session that are under way together must differ.
wrk.method = "POST"
local body = os.getenv("BODY")
for name, value in os.getenv("HEADERS"):gmatch("([^:\n]+): ([^\n]+)") do
  wrk.headers[name] = value
end

if body:find("@ID@", 1, true) then
  local requests, last = {}, 0
  function init()
    for number = 1, 4096 do
      requests[number] = wrk.format(nil, nil, nil, (body:gsub("@ID@", tostring(number + 10000))))
    end
  end
  function request()
    last = last % #requests + 1
    return requests[last]
  end
else
  wrk.body = body
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("ran %d %d %.1f %.1f %d\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
