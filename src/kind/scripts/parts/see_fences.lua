-- SPDX-License-Identifier: BSL-1.0
-- Reads the fences of several locks, KEYS[first] and those behind it, and the node's marker, the last key. Returns nil,
-- the fences, and the highest of them; or only the reply that says why they cannot be counted on.
-- rule M4
local function see_fences(first, marker)
    local seen = redis.call('mget', unpack(KEYS, first))
    local count = #KEYS - first
    if marker ~= '' and seen[count + 1] ~= marker then
        return redis.status_reply('STRANGER')
    end
    local fences, highest = {}, 0
    for i = 1, count do
        local key = KEYS[first + i - 1]
        local fence = tonumber(seen[i] or redis.call('pttl', key) == -2 and 0)
        if not (fence and fence >= 0 and fence < 8796093022208) then
            return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. key)
        end
        fences[i] = fence
        highest = math.max(highest, fence)
    end
    return nil, fences, highest
end
