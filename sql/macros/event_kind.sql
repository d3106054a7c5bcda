-- Kind of events of a category on a track: the category decides, else the track. If only the process is named after a
-- device, the track decides for events without a category alone, since the process may have threads of any kind.
event_kind(category, category_kind, track_kind, is_told_by_thread) as
    coalesce(category_kind, case when coalesce(category, '') = '' or track_kind <> 'activity' or is_told_by_thread then track_kind end)
